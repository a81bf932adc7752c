//! The cohorts of a policy -> [`config::Cohort`].

use std::collections::BTreeMap;

use hedgerow_config::{self as config, cohort as out};
use hedgerow_crds::{
    effective,
    v1alpha1::{
        Operation,
        hedge_policy::{self as spec, BlindAction, CohortMatch, DelayStrategy, ToolUse},
    },
};

use super::measure::{amount, count, millis, texts};
use crate::domain::object::Policy;

/// One cohort as gateways need it, in the mode and with the decision that are in force.
pub(super) fn cohort(
    policy: &Policy,
    cohort: &spec::Cohort,
    mode: out::Mode,
    decision: out::Decision,
) -> config::Cohort {
    let (spec, effective) = (&policy.spec, effective::cohort(&policy.spec, cohort));
    config::Cohort {
        policy: policy.name.clone(),
        name: cohort.name.to_string(),
        mode,
        matches: cohort.match_.as_ref().map(matches).unwrap_or_default(),
        share_percent: count(effective.share_percent),
        hedge_to: cohort.hedge_to.as_ref().map(hedge_to).unwrap_or_default(),
        hedge_warm_cache: effective.hedge_warm_cache,
        objective: effective.objective.as_ref().map(|objective| out::Objective {
            first_token_ms: millis(&objective.first_token),
            percent: count(objective.percent),
        }),
        delay: delay(&spec.delay),
        deadline: deadline(&spec.deadline),
        max_spend_micros: spec.action.as_ref().and_then(|action| action.max_spend_micros).map(amount),
        duplicate_target_percent: count(spec.duplicate_target_percent),
        holdout_percent: count(spec.holdout_percent),
        retry: retry(&spec.retry),
        contract: contract(&spec.contract),
        blind: out::Blind {
            after_ms: millis(&spec.guardrails.blind.after),
            action: match spec.guardrails.blind.action {
                BlindAction::Suspend => out::BlindAction::Suspend,
                BlindAction::Continue => out::BlindAction::Continue,
            },
        },
        decision,
    }
}

/// Which requests a cohort takes. `*` among the models is every model, which the contract writes as none named.
fn matches(matches: &CohortMatch) -> out::CohortMatch {
    out::CohortMatch {
        models: models(&matches.models),
        stream: matches.stream,
        operations: matches.operations.iter().copied().map(operation).collect(),
        tools: matches.tools.map(|tools| match tools {
            ToolUse::None => out::ToolUse::None,
            ToolUse::ClientOnly => out::ToolUse::ClientOnly,
        }),
        input_tokens_below: matches.input_tokens_below.map(amount),
        max_output_tokens_below: matches.max_output_tokens_below.map(amount),
        headers: headers(&matches.headers),
        tenants: texts(&matches.tenants),
    }
}

/// Model names; none where one of them is `*`.
pub(super) fn models<T: AsRef<str>>(models: &[T]) -> Vec<String> {
    if models.iter().any(|model| model.as_ref() == "*") { Vec::new() } else { texts(models) }
}

/// Headers with lower-case names, as HTTP/2 has them.
pub(super) fn headers<V: ToString>(headers: &BTreeMap<String, V>) -> BTreeMap<String, String> {
    headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.to_string())).collect()
}

pub(super) fn operation(operation: Operation) -> out::Operation {
    match operation {
        Operation::ChatCompletions => out::Operation::ChatCompletions,
        Operation::Completions => out::Operation::Completions,
        Operation::Responses => out::Operation::Responses,
        Operation::Embeddings => out::Operation::Embeddings,
        Operation::Messages => out::Operation::Messages,
        Operation::CountTokens => out::Operation::CountTokens,
    }
}

fn hedge_to(hedge_to: &spec::HedgeTo) -> out::HedgeTo {
    out::HedgeTo { providers: texts(&hedge_to.providers), regions: texts(&hedge_to.regions) }
}

fn delay(delay: &spec::Delay) -> out::Delay {
    out::Delay {
        strategy: match delay.strategy {
            DelayStrategy::Quantile => out::DelayStrategy::Quantile,
            DelayStrategy::Optimal => out::DelayStrategy::Optimal,
            DelayStrategy::Fixed => out::DelayStrategy::Fixed,
        },
        quantile_percent: count(delay.quantile_percent),
        min_ms: millis(&delay.min),
        max_ms: millis(&delay.max),
        cold_start_ms: millis(&delay.cold_start),
        fixed_ms: delay.fixed.as_ref().map(millis),
    }
}

pub(super) fn deadline(deadline: &spec::Deadline) -> out::Deadline {
    out::Deadline {
        stream_ms: millis(&deadline.stream),
        complete_ms: millis(&deadline.complete),
        total_ms: millis(&deadline.total),
    }
}

pub(super) fn retry(retry: &spec::Retry) -> out::Retry {
    out::Retry {
        max_attempts: count(retry.max_attempts),
        backoff_base_ms: millis(&retry.backoff_base),
        backoff_max_ms: millis(&retry.backoff_max),
    }
}

pub(super) fn contract(contract: &spec::Contract) -> out::Contract {
    out::Contract {
        require_finish: contract.require_finish,
        allowed_finish_reasons: texts(&contract.allowed_finish_reasons),
        json_schema_from_request: contract.json_schema_from_request,
        required_json_pointers: texts(&contract.required_json_pointers),
    }
}
