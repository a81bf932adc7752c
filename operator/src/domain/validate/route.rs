//! Routes.

use hedgerow_crds::v1alpha1::provider_route::Api;

use super::{Invalid, repeated_headers};
use crate::domain::object::Route;

/// Problems of one route.
pub fn route(route: &Route) -> Vec<Invalid> {
    let spec = &route.spec;
    let mut found = repeated_headers("spec.headers", spec.headers.keys());
    if let Some(name) =
        spec.tls.as_ref().and_then(|tls| tls.server_name.as_deref()).filter(|name| !is_host(name))
    {
        let message = format!(
            "{name} is no host name: every part between dots has 1 to 63 characters and no hyphen at its ends"
        );
        found.push(Invalid::new("spec.tls.serverName", message));
    }
    if let Some(azure) = &spec.azure {
        for model in azure.deployments.keys() {
            if !spec.models.iter().any(|served| served.name == model.as_str()) {
                found.push(Invalid::new(
                    "spec.azure.deployments",
                    format!("{model} is not in spec.models: add it there or remove the deployment"),
                ));
            }
        }
    }
    if spec.api == Api::AzureOpenAI {
        let named =
            |model: &str| spec.azure.as_ref().is_some_and(|azure| azure.deployments.contains_key(model));
        if spec.models.iter().any(|model| model.name == "*" && !named("*")) && dated_api(route) {
            found.push(Invalid::new(
                "spec.models",
                "with azure.apiVersion every model needs a deployment, so * cannot be served: list the models",
            ));
        }
    }
    found
}

/// Whether a certificate can be asked for by that name (RFC 1123, 2.1): the schema admits empty parts.
fn is_host(name: &str) -> bool {
    let part = |part: &str| (1..=63).contains(&part.len()) && !part.starts_with('-') && !part.ends_with('-');
    name.split('.').all(part)
}

/// Whether Azure's dated surface is used, whose URLs contain a deployment.
fn dated_api(route: &Route) -> bool {
    route.spec.azure.as_ref().is_some_and(|azure| azure.api_version.is_some())
}

/// Routes without a data boundary in a fleet where another route has one.
///
/// They are the ones that must not be used: a boundary is a promise about where prompts go, and a route that says
/// nothing could break it. Returns the names with the problem.
pub fn boundaries<'a>(routes: &[&'a Route]) -> Vec<(&'a str, Invalid)> {
    let Some(bounded) = routes.iter().find(|route| route.spec.data_boundary.is_some()) else {
        return Vec::new();
    };
    let boundary = bounded.spec.data_boundary.as_deref().unwrap_or_default();
    routes
        .iter()
        .filter(|route| route.spec.data_boundary.is_none())
        .map(|route| {
            let message = format!(
                "route {} of this fleet sets dataBoundary: {boundary}, so every route must say where its data stays: \
                 set dataBoundary here or remove it there",
                bounded.name
            );
            (route.name.as_str(), Invalid::new("spec.dataBoundary", message))
        })
        .collect()
}
