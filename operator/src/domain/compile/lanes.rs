//! `PriorityLane` -> [`config::Lane`].

use hedgerow_config::{self as config, lane as out};
use hedgerow_crds::v1alpha1::priority_lane::{Algorithm, Concurrency, LaneMatch};

use super::{
    cohorts::{headers, models, operation},
    measure::{count, millis, narrow, texts},
};
use crate::domain::object::Lane;

/// The lane as gateways need it.
pub(super) fn lane(lane: &Lane) -> config::Lane {
    let spec = &lane.spec;
    config::Lane {
        name: lane.name.clone(),
        priority: count(spec.priority),
        matches: spec.match_.as_ref().map(matches),
        concurrency: concurrency(&spec.concurrency),
        share: out::Share {
            guaranteed_percent: count(spec.share.guaranteed_percent),
            ceiling_percent: count(spec.share.ceiling_percent),
        },
        tenants: out::Tenants {
            max_share_percent: count(spec.tenants.max_share_percent),
            weights: spec
                .tenants
                .weights
                .iter()
                .map(|(tenant, weight)| (tenant.clone(), count(*weight)))
                .collect(),
            deny: texts(&spec.tenants.deny),
        },
        queue: out::Queue {
            max_wait_ms: millis(&spec.queue.max_wait),
            max_depth_percent: count(spec.queue.max_depth_percent),
        },
        retry_after: out::RetryAfter {
            min_ms: millis(&spec.retry_after.min),
            max_ms: millis(&spec.retry_after.max),
        },
    }
}

fn matches(matches: &LaneMatch) -> out::LaneMatch {
    out::LaneMatch {
        headers: headers(&matches.headers),
        tenants: texts(&matches.tenants),
        models: models(&matches.models),
        operations: matches.operations.iter().copied().map(operation).collect(),
    }
}

fn concurrency(concurrency: &Concurrency) -> out::Concurrency {
    out::Concurrency {
        algorithm: match concurrency.algorithm {
            Algorithm::Aimd => out::Algorithm::Aimd,
            Algorithm::Fixed => out::Algorithm::Fixed,
        },
        initial: narrow(concurrency.initial),
        min: narrow(concurrency.min),
        max: narrow(concurrency.max),
        decrease_percent: count(concurrency.decrease_percent),
        increase_percent: count(concurrency.increase_percent),
        target_first_token_ms: concurrency.target_first_token.as_ref().map(millis),
    }
}
