//! What the operator would refuse, in its own words: the verdicts of the same `attach` that it runs.

use hedgerow_crds::{Kind, condition::Reason};

use super::{super::Finding, Fleet};
use crate::domain::{Acceptance, Verdict, attach::attach};

/// Findings of a fleet.
pub(super) fn check(fleet: &Fleet<'_>) -> Vec<Finding> {
    attach(&fleet.snapshot).verdicts.iter().flat_map(|verdict| of_verdict(fleet, verdict)).collect()
}

fn of_verdict(fleet: &Fleet<'_>, verdict: &Verdict) -> Vec<Finding> {
    let Verdict { kind, name, .. } = verdict;
    if !verdict.conflicts.is_empty() {
        return verdict.conflicts.iter().filter_map(|conflict| {
            let policy = fleet.snapshot.policies.iter().find(|policy| policy.name == *name)?;
            let index = policy.spec.cohorts.iter().position(|cohort| *cohort.name == *conflict.cohort)?;
            let message = format!(
                "cohort {} belongs to policy {}, which comes first in this fleet: rename it here, or raise spec.priority \
                 above that of {}",
                conflict.cohort, conflict.winner, conflict.winner
            );
            fleet.finding(*kind, name, "cross/conflict", &format!("spec.cohorts[{index}].name"), message)
        }).collect();
    }
    if verdict.acceptance != Acceptance::Whole {
        let rule = match verdict.reason {
            Reason::Conflicted => "cross/conflict",
            Reason::FleetFull => "cross/fleet-full",
            Reason::SecretNotAllowed => "cross/secret-not-allowed",
            Reason::EndpointNotAllowed => "cross/endpoint-not-allowed",
            Reason::PartiallyAccepted => "cross/not-in-force",
            _ => "cross/invalid",
        };
        let message =
            verdict.message.strip_prefix(&format!("{}: ", verdict.field)).unwrap_or(&verdict.message);
        return fleet.finding(*kind, name, rule, &verdict.field, message).into_iter().collect();
    }
    let unserved = verdict.not_programmed.as_ref().filter(|_| *kind != Kind::GatewayFleet);
    unserved
        .and_then(|(_, message)| {
            fleet.warning(*kind, name, "cross/no-routes", "spec.gateway", message.as_str())
        })
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::{
        domain::{Installation, Tenancy},
        lint::{self, Source},
    };

    const OBJECTS: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: ProviderRoute
metadata: {name: greedy}
spec:
  api: OpenAI
  endpoint: https://api.openai.com
  auth: {secretRef: {name: database, key: k}}
  failureDomain: {provider: p, region: r}
  models: [{name: m}]
---
apiVersion: hedgerow.dev/v1alpha1
kind: ProviderRoute
metadata: {name: inside}
spec:
  api: OpenAI
  endpoint: https://vllm.models.svc
  auth: {type: None}
  failureDomain: {provider: p, region: r}
  models: [{name: m}]
---
apiVersion: hedgerow.dev/v1alpha1
kind: GatewayFleet
metadata: {name: default}
spec:
  secrets: [database]
";

    #[test]
    fn what_an_installation_withholds_is_an_error_at_the_field_that_asks_for_it() {
        let file = lint::read(&Source::new("f.yaml", OBJECTS));
        assert_eq!(file.findings, []);
        let found = |installation: &Installation| -> Vec<String> {
            let findings = lint::cross_under(installation, &[&file], None);
            findings
                .iter()
                .map(|one| format!("{}:{} {} {}", one.line, one.name, one.rule, one.path))
                .collect()
        };
        assert_eq!(found(&Installation::permissive()), [""; 0]);
        let strict = Installation::new(Value::Null, true, Tenancy::default()).unwrap();
        assert_eq!(
            found(&strict),
            [
                "8:greedy cross/secret-not-allowed spec.auth.secretRef",
                "17:inside cross/endpoint-not-allowed spec.endpoint",
                "26:default cross/not-in-force spec.secrets",
            ]
        );
    }
}
