//! Secret files that are named and not there.

use hedgerow_crds::{Kind, effective};

use super::{super::Finding, Fleet, Secrets};

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
