//! Secret files that are named and not there, or not usable.

use hedgerow_config::settings;
use hedgerow_crds::{Kind, effective, v1alpha1::GatewayFleetSpec};

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
    if let Some(settings) = &fleet.snapshot.settings {
        findings.extend(of_fleet(&settings.spec, secrets).into_iter().filter_map(|(path, message)| {
            fleet.finding(Kind::GatewayFleet, &settings.name, "cross/secret-missing", path, message)
        }));
    }
    findings
}

/// What a fleet names for itself: client keys, its certificate, further authorities.
fn of_fleet(spec: &GatewayFleetSpec, secrets: &Secrets) -> Vec<(&'static str, String)> {
    let mut missing = Vec::new();
    if let Some(name) = spec.client_auth.secret_name.as_ref().filter(|name| !secrets.has_any(name)) {
        let message =
            format!("the directory secrets/{name} has no client key: write one file per tenant into it");
        missing.push(("spec.clientAuth.secretName", message));
    }
    let serving = spec.tls.iter().flat_map(|tls| {
        let file = |key| ("spec.tls.secretName", &tls.secret_name, key);
        [file(settings::CERTIFICATE_KEY), file(settings::PRIVATE_KEY)]
    });
    let authorities = spec.egress.as_ref().and_then(|egress| egress.ca_config_map.as_ref());
    let authorities = authorities.map(|name| ("spec.egress.caConfigMap", name, settings::AUTHORITIES_KEY));
    for (path, name, key) in serving.chain(authorities).filter(|(_, name, key)| !secrets.contains(name, key))
    {
        let message = format!("the file secrets/{name}/{key} is missing or empty: write it in PEM form");
        missing.push((path, message));
    }
    missing
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
