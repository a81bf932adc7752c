//! What the installation's tenancy makes of routes and fleets, and what of a fleet says nothing.
//!
//! A route that may not have its Secret or its endpoint is not used at all. A fleet runs without the Secrets that it may
//! not have: everything else in it would be worse without (its client keys above all), and what needs such a Secret stays
//! shut. A fleet also runs without what says nothing, and its verdict names it.

use hedgerow_crds::{
    Kind, condition::Reason, default_secret_name, effective, v1alpha1::gateway_fleet::Egress,
};
use hedgerow_policy::bypass::Bypass;

use super::{
    object::{Fleet, Route},
    tenancy::Tenancy,
    upstream::Upstream,
    verdict::{Acceptance, Verdict},
};

/// The verdict on a route that is not allowed.
pub(super) fn route(route: &Route, tenancy: &Tenancy) -> Option<Verdict> {
    let spec = &route.spec;
    let whole = Verdict::whole(Kind::ProviderRoute, &route.name, route.generation);
    if !tenancy.allows_endpoint(&spec.endpoint) {
        let message = tenancy.endpoint_refusal(&spec.endpoint);
        return Some(whole.refuse(Reason::EndpointNotAllowed, "spec.endpoint", message));
    }
    let key = effective::secret(spec).map(|reference| ("spec.auth.secretRef", reference.name));
    let authority = spec.tls.as_ref().and_then(|tls| tls.ca_secret_ref.as_ref());
    let authority = authority.map(|reference| ("spec.tls.caSecretRef.name", reference.name.clone()));
    let (field, name) = key.into_iter().chain(authority).find(|(_, name)| !tenancy.allows_secret(name))?;
    Some(whole.refuse(Reason::SecretNotAllowed, field, tenancy.secret_refusal(&name)))
}

/// The verdict on a fleet.
pub(super) fn fleet(fleet: &Fleet, tenancy: &Tenancy) -> Verdict {
    let (spec, keys) = (&fleet.spec, default_secret_name(&fleet.name));
    let whole = Verdict::whole(Kind::GatewayFleet, &fleet.name, fleet.generation);
    let clients = spec.client_auth.secret_name.iter().map(|name| ("spec.clientAuth.secretName", name));
    let serving = spec.tls.iter().map(|tls| ("spec.tls.secretName", &tls.secret_name));
    let further = spec.secrets.iter().map(|name| ("spec.secrets", name));
    let named = clients.chain(serving).chain(further).filter(|(_, name)| **name != *keys);
    let mut refused = named.filter(|(_, name)| !tenancy.allows_secret(name));
    let refused = refused.next().map(|(field, name)| (field, tenancy.secret_refusal(name)));
    match refused.or_else(|| meaningless(spec.egress.as_ref()?)) {
        Some((field, message)) => Verdict {
            acceptance: Acceptance::Partly,
            reason: Reason::PartiallyAccepted,
            message,
            field: field.to_owned(),
            ..whole
        },
        None => whole,
    }
}

/// What the schema lets through and gateways cannot use. Behind a proxy that is no URL no https endpoint is reached: going
/// around it is not what its author asked for.
fn meaningless(egress: &Egress) -> Option<(&'static str, String)> {
    if let Some(proxy) = egress.https_proxy.as_deref().filter(|proxy| Upstream::parse(proxy).is_none()) {
        let message = format!(
            "{proxy} is no URL of a proxy, so no https endpoint is reached: write http://host:port or https://host:port"
        );
        return Some(("spec.egress.httpsProxy", message));
    }
    let (_, refused) = Bypass::read(&egress.no_proxy);
    refused.first().map(|entry| ("spec.egress.noProxy", format!("not in force: {entry}")))
}
