//! Secret files that are named and not there, or not usable.

use hedgerow_crds::{Kind, effective};

use super::{super::Finding, Fleet, Secrets};
use crate::domain::Route;

/// Findings of a fleet whose secret files are known.
pub(super) fn check(fleet: &Fleet<'_>, secrets: &Secrets) -> Vec<Finding> {
    let mut findings = Vec::new();
    for route in &fleet.snapshot.routes {
        let spec = &route.spec;
        let mut needed = Vec::new();
        needed.extend(effective::secret(spec).map(|key| ("spec.auth.secretRef", key)));
        if let Some(tls) = &spec.tls {
            needed.extend(tls.ca_secret_ref.clone().map(|key| ("spec.tls.caSecretRef", key)));
            needed.extend(tls.ca_config_map_ref.clone().map(|key| ("spec.tls.caConfigMapRef", key)));
        }
        for (path, file) in needed.iter().filter(|(_, file)| !secrets.contains(&file.name, &file.key)) {
            let message = format!(
                "the file secrets/{}/{} is missing or empty: write the key into it",
                file.name, file.key
            );
            findings.extend(fleet.finding(
                Kind::ProviderRoute,
                &route.name,
                "cross/secret-missing",
                path,
                message,
            ));
        }
    }
    findings.extend(fleet.snapshot.routes.iter().filter_map(|route| unsendable(fleet, secrets, route)));
    let clients =
        fleet.snapshot.settings.as_ref().and_then(|settings| settings.spec.client_auth.secret_name.as_ref());
    if let Some(name) = clients.filter(|name| !secrets.has_any(name)) {
        let message =
            format!("the directory secrets/{name} has no client key: write one file per tenant into it");
        let path = "spec.clientAuth.secretName";
        findings.extend(fleet.finding(
            Kind::GatewayFleet,
            &fleet.snapshot.fleet,
            "cross/secret-missing",
            path,
            message,
        ));
    }
    findings
}

/// A key that is there and that no header can hold. Authorities are not sent and may have many lines.
fn unsendable(fleet: &Fleet<'_>, secrets: &Secrets, route: &Route) -> Option<Finding> {
    let file = effective::secret(&route.spec).filter(|file| secrets.is_unsendable(&file.name, &file.key))?;
    let message = format!(
        "the file secrets/{}/{} has a line break or another control character: write the key as one line",
        file.name, file.key
    );
    fleet.finding(Kind::ProviderRoute, &route.name, "cross/secret-unusable", "spec.auth.secretRef", message)
}
