//! Where and how the attempts of a route are addressed: URI, dialect form, credential header.
//!
//! Inputs: the configured endpoint. Outputs: absolute URIs and headers of one attempt. Refuses anything but `http` and
//! `https` URLs with a host.

use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use hedgerow_config::{
    self as config,
    route::{Api, AuthScheme},
};

use crate::{
    config::credentials::Credentials,
    runtime::error::ApplyError,
    wire::{dialect::Operation, headers},
};

/// Version of Anthropic's API that is asked for when the client names none.
const ANTHROPIC_VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// The parsed endpoint of a route.
#[derive(Clone, Debug)]
pub struct Address {
    /// `https://host[:port]/prefix`, without a slash at the end.
    base: String,
    /// The URI of each operation, in the order of [`Operation::ALL`]; Azure's depend on the model.
    uris: Vec<Uri>,
    static_headers: Vec<(HeaderName, HeaderValue)>,
}

impl Address {
    /// Reads the endpoint and the static headers.
    pub fn new(route: &config::Route) -> Result<Self, ApplyError> {
        let refuse = |why: String| ApplyError::Route { route: route.name.clone(), why };
        let uri: Uri = route.endpoint.parse().map_err(|error| {
            refuse(format!("endpoint {:?} is not a URL ({error}): write https://host", route.endpoint))
        })?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
            return Err(refuse(format!("endpoint {:?} must be https://host or http://host", route.endpoint)));
        }
        let static_headers = route
            .headers
            .iter()
            .map(|(name, value)| Ok((name.parse::<HeaderName>()?, value.parse::<HeaderValue>()?)))
            .collect::<Result<_, http::Error>>()
            .map_err(|error| refuse(format!("headers: {error}")))?;
        let base = route.endpoint.trim_end_matches('/').to_owned();
        // An endpoint that already ends in `/v1` keeps it once.
        let version = if base.ends_with("/v1") { "" } else { "/v1" };
        let uris = Operation::ALL
            .map(|operation| format!("{base}{version}/{}", operation.upstream_path()).parse())
            .into_iter()
            .collect::<Result<_, _>>()
            .map_err(|error: http::uri::InvalidUri| {
                refuse(format!("endpoint {:?} takes no path: {error}", route.endpoint))
            })?;
        Ok(Self { base, uris, static_headers })
    }

    /// The absolute URI of an attempt.
    pub fn uri(
        &self,
        route: &config::Route,
        operation: Operation,
        model: &config::route::Model,
    ) -> Option<Uri> {
        match (&route.api, &route.azure) {
            (Api::AzureOpenAI, Some(azure)) => {
                let deployment = azure.deployments.get(&model.name).unwrap_or(&model.name);
                let (base, path, version) = (&self.base, operation.upstream_path(), &azure.api_version);
                format!("{base}/openai/deployments/{deployment}/{path}?api-version={version}").parse().ok()
            }
            _ => self.uris.get(operation as usize).cloned(),
        }
    }

    /// The absolute URI of something below the provider's stored responses, `responses/{id}` or longer, with the client's
    /// query.
    pub fn stored_uri(&self, route: &config::Route, path: &str, query: Option<&str>) -> Option<Uri> {
        let base = &self.base;
        let (prefix, version) = match (&route.api, &route.azure) {
            (Api::AzureOpenAI, Some(azure)) => {
                ("/openai", Some(format!("api-version={}", azure.api_version)))
            }
            _ if base.ends_with("/v1") => ("", None),
            _ => ("/v1", None),
        };
        let query: Vec<&str> = version.as_deref().into_iter().chain(query).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{base}{prefix}/{path}{mark}{}", query.join("&")).parse().ok()
    }

    /// Adds static headers and the dialect's own to an attempt's headers.
    pub fn decorate(&self, api: Api, out: &mut HeaderMap) {
        for (name, value) in &self.static_headers {
            out.insert(name.clone(), value.clone());
        }
        if api == Api::Anthropic {
            out.entry("anthropic-version").or_insert(ANTHROPIC_VERSION);
        }
    }
}

/// Puts the credential of `route` on an attempt. `None` when it is missing or cannot be a header value.
pub fn authorize(
    route: &config::Route,
    credentials: &Credentials,
    client: &HeaderMap,
    out: &mut HeaderMap,
) -> Option<()> {
    let secret = || route.auth.secret.as_ref().and_then(|key| credentials.get(key));
    match route.auth.scheme {
        AuthScheme::None => {}
        AuthScheme::Bearer => {
            out.insert(http::header::AUTHORIZATION, secret()?.bearer()?);
        }
        AuthScheme::Header => {
            let name = route.auth.header.as_deref().unwrap_or("api-key").parse::<HeaderName>().ok()?;
            out.insert(name, secret()?.header_value()?);
        }
        AuthScheme::Passthrough => pass_through(client, out)?,
    }
    Some(())
}

/// Forwards the client's own credential in the header in which it came.
fn pass_through(client: &HeaderMap, out: &mut HeaderMap) -> Option<()> {
    headers::credential(client)?;
    for name in ["authorization", "x-api-key", "api-key"] {
        if let Some(value) = client.get(name) {
            out.insert(HeaderName::from_static(name), value.clone());
        }
    }
    Some(())
}

/// Whether an attempt could be authorised now.
pub fn has_credential(route: &config::Route, credentials: &Credentials) -> bool {
    match route.auth.scheme {
        AuthScheme::None | AuthScheme::Passthrough => true,
        AuthScheme::Bearer | AuthScheme::Header => {
            route.auth.secret.as_ref().and_then(|key| credentials.get(key)).is_some_and(|s| s.is_sendable())
        }
    }
}
