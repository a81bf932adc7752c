//! Holds by hand are annotations of a manager of their own: Git goes on owning the rest, and takes nothing of them away.

use serde_json::Value;

use crate::{delivery::Delivery, installation::Installation, team::Team};

const POLICY: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: chat}
spec: {mode: Enforce, holdoutPercent: 5, cohorts: [{name: stream}]}
";
const SUSPEND: &str = "hedgerow.dev/suspend.stream";
const RESUME: &str = "hedgerow.dev/resume.stream";
const MANAGER: &str = "--field-manager=hedgerow-resume";

async fn annotation(team: &Team, name: &str) -> Value {
    team.ours("hedgepolicies", "chat").await.unwrap()["metadata"]["annotations"][name].clone()
}

#[tokio::test]
async fn a_hold_and_a_resume_by_annotation_survive_reconciles_and_changes_in_git() {
    let team = Team::new("holds");
    let _operator = Installation::of(&team, 1, &[]);
    let delivery = Delivery::of(&team);
    let route = team.route("only", "");
    delivery
        .ready(&delivery.commit("a route and a policy", &[("route", Some(&route)), ("policy", Some(POLICY))]))
        .await;
    team.cohort("Ramping").await;

    let until_then = "2100-01-01T00:00:00Z";
    team.kubectl(&["annotate", "hp", "chat", &format!("{SUSPEND}={until_then}"), MANAGER]);
    let held = team.cohort("Suspended").await;
    delivery.reconciled().await;
    let changed = POLICY.replace("holdoutPercent: 5", "holdoutPercent: 7");
    delivery.ready(&delivery.commit("a smaller comparison", &[("policy", Some(&changed))])).await;
    assert_eq!(annotation(&team, SUSPEND).await, until_then);
    let after = team.cohort("Suspended").await;
    for field in ["transition", "since", "hold"] {
        assert_eq!(held[field], after[field], "{field}");
    }

    // As `hedgerow resume` does: the request, and the hold away, which would else go on.
    team.kubectl(&["annotate", "hp", "chat", &format!("{RESUME}=now"), &format!("{SUSPEND}-"), MANAGER]);
    assert_eq!(team.cohort("Ramping").await["lastHandledResume"], "now");
    delivery.reconciled().await;
    assert_eq!(annotation(&team, RESUME).await, "now");
    let resumed = team.cohort("Ramping").await;
    assert!(resumed["hold"].is_null(), "{resumed}");

    // Why they have a manager of their own: what kubectl wrote under its own name, Flux takes for a drift.
    team.kubectl(&["annotate", "hp", "chat", "hedgerow.dev/resume.other=now"]);
    delivery.reconciled().await;
    assert_eq!(annotation(&team, "hedgerow.dev/resume.other").await, Value::Null);
}
