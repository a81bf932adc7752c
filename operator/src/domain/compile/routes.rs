//! `ProviderRoute` -> [`config::Route`].

use hedgerow_config::{self as config, route as out};
use hedgerow_crds::{
    effective::{self, EffectiveModel, EffectivePricing},
    v1alpha1::provider_route::{self as spec, Api, AuthType, Billing, ProviderRouteSpec},
};

use super::measure::{amount, count, millis, texts};
use crate::domain::object::Route;

/// The route as gateways need it.
pub(super) fn route(route: &Route) -> config::Route {
    let spec = &route.spec;
    config::Route {
        name: route.name.clone(),
        uid: route.uid.clone(),
        api: match spec.api {
            Api::OpenAI => out::Api::OpenAI,
            Api::AzureOpenAI => out::Api::AzureOpenAI,
            Api::Anthropic => out::Api::Anthropic,
        },
        endpoint: endpoint(spec),
        auth: auth(spec),
        azure: azure(spec),
        failure_domain: out::FailureDomain {
            provider: spec.failure_domain.provider.to_string(),
            region: spec.failure_domain.region.to_string(),
        },
        data_boundary: spec.data_boundary.as_ref().map(ToString::to_string),
        tenants: texts(&spec.tenants),
        quota_group: effective::quota_group(&route.name, spec),
        models: spec.models.iter().map(|one| model(spec, one)).collect(),
        tier: count(spec.tier),
        weight: count(spec.weight),
        suspend: spec.suspend,
        ramp_up: out::RampUp {
            start_percent: count(spec.ramp_up.start_percent),
            every_ms: millis(&spec.ramp_up.every),
        },
        limits: spec.limits.as_ref().map(limits).unwrap_or_default(),
        timeouts: out::Timeouts {
            connect_ms: millis(&spec.timeouts.connect),
            first_token_ms: millis(&spec.timeouts.first_token),
            idle_bytes_ms: millis(&spec.timeouts.idle_bytes),
            idle_tokens_ms: millis(&spec.timeouts.idle_tokens),
        },
        breaker: breaker(&spec.breaker),
        on_cancel: on_cancel(&spec.on_cancel),
        capabilities: out::Capabilities {
            stream_usage: spec.capabilities.stream_usage,
            portable_signatures: spec.capabilities.portable_signatures,
        },
        tls: spec.tls.as_ref().map(tls).unwrap_or_default(),
        headers: spec
            .headers
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_string()))
            .collect(),
    }
}

/// The base URL. Azure's version-less surface is that of OpenAI below `/openai/v1`, which users leave out.
fn endpoint(spec: &ProviderRouteSpec) -> String {
    let base = spec.endpoint.trim_end_matches('/');
    let dated = spec.azure.as_ref().is_some_and(|azure| azure.api_version.is_some());
    if spec.api != Api::AzureOpenAI || dated || base.ends_with("/v1") {
        return base.to_owned();
    }
    format!("{}/openai/v1", base.trim_end_matches("/openai"))
}

fn auth(spec: &ProviderRouteSpec) -> out::Auth {
    out::Auth {
        scheme: match spec.auth.type_ {
            AuthType::Bearer => out::AuthScheme::Bearer,
            AuthType::Header => out::AuthScheme::Header,
            AuthType::None => out::AuthScheme::None,
            AuthType::Passthrough => out::AuthScheme::Passthrough,
        },
        header: spec.auth.header.as_ref().map(|name| name.to_ascii_lowercase()),
        secret: effective::secret(spec).map(|reference| out::SecretKey {
            name: reference.name.to_string(),
            key: reference.key.to_string(),
        }),
    }
}

/// Azure's dated surface, whose URLs name a deployment. The version-less surface is that of OpenAI: there the
/// deployment is the model's upstream name.
fn azure(spec: &ProviderRouteSpec) -> Option<out::Azure> {
    let api_version = spec.azure.as_ref()?.api_version.as_ref()?.to_string();
    let deployments = effective::models(spec)
        .into_iter()
        .filter_map(|model| Some((model.name.to_string(), model.deployment?.to_string())))
        .collect();
    Some(out::Azure { api_version, deployments })
}

fn model(spec: &ProviderRouteSpec, model: &spec::Model) -> out::Model {
    let effective = effective::model(spec, model);
    out::Model {
        name: model.name.to_string(),
        upstream_name: upstream_name(&effective),
        pricing: effective.pricing.map(pricing),
        context_tokens: model.context_tokens.map(amount),
        max_output_tokens: model.max_output_tokens.map(amount),
        first_token_timeout_ms: model.first_token_timeout.as_ref().map(millis),
    }
}

/// The name to put into requests, where it is not the one that clients use: bodies that need no change get none.
fn upstream_name(model: &EffectiveModel) -> Option<String> {
    let name = model.deployment.as_ref().map_or(&*model.upstream_name, |deployment| &**deployment);
    (name != "*" && *name != *model.name).then(|| name.to_owned())
}

fn pricing(pricing: EffectivePricing) -> out::Pricing {
    out::Pricing {
        input_micros_per_million: amount(pricing.input_micros_per_million),
        cached_input_micros_per_million: Some(amount(pricing.cached_input_micros_per_million)),
        cache_write_micros_per_million: Some(amount(pricing.cache_write_micros_per_million)),
        output_micros_per_million: amount(pricing.output_micros_per_million),
    }
}

fn limits(limits: &spec::Limits) -> out::Limits {
    out::Limits {
        max_concurrent: limits.max_concurrent.map(amount),
        requests_per_minute: limits.requests_per_minute.map(amount),
        tokens_per_minute: limits.tokens_per_minute.map(amount),
    }
}

fn breaker(breaker: &spec::Breaker) -> out::Breaker {
    out::Breaker {
        consecutive_failures: count(breaker.consecutive_failures),
        failure_percent: count(breaker.failure_percent),
        slow_percent: count(breaker.slow_percent),
        slow_factor_percent: count(breaker.slow_factor_percent),
        min_requests: count(breaker.min_requests),
        window_ms: millis(&breaker.window),
        open_for_ms: millis(&breaker.open_for),
        max_open_for_ms: millis(&breaker.max_open_for),
    }
}

fn on_cancel(on_cancel: &spec::OnCancel) -> out::OnCancel {
    out::OnCancel {
        billing: match on_cancel.billing {
            Billing::Stops => out::CancelBilling::Stops,
            Billing::Continues => out::CancelBilling::Continues,
            Billing::Unknown => out::CancelBilling::Unknown,
        },
        audit_percent: count(on_cancel.audit.percent),
        audit_max_bytes: amount(on_cancel.audit.max_bytes),
        audit_max_ms: millis(&on_cancel.audit.max_time),
        audit_max_concurrent: count(on_cancel.audit.max_concurrent),
    }
}

/// Where a private authority is mounted: Secrets and `ConfigMap`s share one directory.
fn tls(tls: &spec::Tls) -> out::Tls {
    out::Tls {
        ca: tls.ca_secret_ref.as_ref().or(tls.ca_config_map_ref.as_ref()).map(|reference| out::SecretKey {
            name: reference.name.to_string(),
            key: reference.key.to_string(),
        }),
        server_name: tls.server_name.as_ref().map(ToString::to_string),
    }
}
