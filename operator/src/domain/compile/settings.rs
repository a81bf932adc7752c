//! `GatewayFleet` -> [`config::Settings`], as far as the gateway itself needs it.

use hedgerow_config::{self as config, route::SecretKey, settings as out};
use hedgerow_crds::{
    effective,
    v1alpha1::{
        GatewayFleetSpec,
        gateway_fleet::{Affinity, ClientAuthType, Egress, Hedging, TenantSource, Traces},
    },
};

use super::{
    budgets,
    cohorts::{contract, deadline, retry},
    measure::{amount, count, millis, narrow, texts},
};

/// The fleet's settings.
pub(super) fn settings(spec: &GatewayFleetSpec) -> config::Settings {
    config::Settings {
        max_in_flight: narrow(spec.max_in_flight),
        currency: spec.currency.to_string(),
        tenant_from: tenant_from(spec),
        affinity: match spec.affinity {
            Affinity::Prefix => out::Affinity::Prefix,
            Affinity::None => out::Affinity::None,
        },
        client_auth: out::ClientAuth {
            kind: match spec.client_auth.type_ {
                ClientAuthType::None => out::ClientAuthKind::None,
                ClientAuthType::ApiKeys => out::ClientAuthKind::ApiKeys,
            },
            secret_name: spec.client_auth.secret_name.as_ref().map(ToString::to_string),
        },
        defaults: out::Defaults {
            retry: retry(&spec.defaults.retry),
            budget: budgets::rule(&spec.defaults.budget, ""),
            contract: contract(&spec.defaults.contract),
            deadline: deadline(&spec.defaults.deadline),
        },
        drain: out::Drain {
            endpoint_delay_ms: millis(&spec.drain.endpoint_delay),
            timeout_ms: millis(&spec.drain.timeout),
        },
        max_request_bytes: amount(spec.max_request_bytes),
        buffered_bytes_limit: buffered_bytes(spec),
        sse_keep_alive: out::SseKeepAlive {
            interval_ms: millis(&spec.sse_keep_alive.interval),
            before_first_token: spec.sse_keep_alive.before_first_token,
        },
        hedging: match spec.hedging {
            Hedging::Allowed => out::Hedging::Allowed,
            Hedging::Forbidden => out::Hedging::Forbidden,
        },
        tls: spec.tls.as_ref().map(|tls| out::ServingTls { secret_name: tls.secret_name.to_string() }),
        egress: spec.egress.as_ref().map(egress).unwrap_or_default(),
        traces: spec.traces.as_ref().map(traces),
    }
}

fn traces(traces: &Traces) -> out::Traces {
    out::Traces { endpoint: traces.endpoint.to_string(), sample_percent: count(traces.sample_percent) }
}

fn egress(egress: &Egress) -> out::Egress {
    out::Egress {
        https_proxy: egress.https_proxy.as_ref().map(ToString::to_string),
        no_proxy: texts(&egress.no_proxy),
        ca: egress
            .ca_config_map
            .as_ref()
            .map(|name| SecretKey { name: name.to_string(), key: out::AUTHORITIES_KEY.to_owned() }),
    }
}

fn tenant_from(spec: &GatewayFleetSpec) -> out::TenantFrom {
    match effective::tenant_source(spec) {
        (TenantSource::Header, Some(header)) => out::TenantFrom::Header(header.to_ascii_lowercase()),
        (TenantSource::ApiKey, _) => out::TenantFrom::ApiKey,
        (TenantSource::Header | TenantSource::None, _) => out::TenantFrom::None,
    }
}

/// The share of the memory limit that request bodies may fill; with a limit that is no amount, that of the default.
fn buffered_bytes(spec: &GatewayFleetSpec) -> u64 {
    bytes(&spec.resources.limits.memory).map_or_else(
        || config::Settings::default().buffered_bytes_limit,
        |limit| limit.saturating_mul(u64::from(count(spec.buffered_bytes_percent))) / 100,
    )
}

/// An amount of memory as Kubernetes writes it (`512Mi`), in bytes.
fn bytes(quantity: &str) -> Option<u64> {
    let unit = quantity.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number: f64 = quantity.strip_suffix(unit)?.parse().ok()?;
    let factor = match unit {
        "" => 1.0,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        "Ti" => 1_099_511_627_776.0,
        _ => return None,
    };
    Some((number * factor) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_fleet_means_the_contracts_own_defaults() {
        assert_eq!(settings(&GatewayFleetSpec::default()), config::Settings::default());
    }

    #[test]
    fn memory_is_read_in_every_unit_of_kubernetes() {
        for (text, value) in [
            ("1", Some(1)),
            ("1.5k", Some(1_500)),
            ("64Mi", Some(67_108_864)),
            ("2Gi", Some(2_147_483_648)),
            ("x", None),
            ("1X", None),
        ] {
            assert_eq!(bytes(text), value, "{text}");
        }
    }
}
