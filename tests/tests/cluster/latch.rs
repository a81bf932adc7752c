//! What was decided about a cohort outlives the process that decided it.

use serde_json::Value;

use crate::{
    installation::Installation,
    team::{SOON, Team, until},
};

#[tokio::test]
async fn a_held_cohort_stays_held_over_a_restart_of_the_operator_until_somebody_resumes_it() {
    let team = Team::new("latch");
    let operator = Installation::of(&team, 1, &[]);
    team.provider();
    team.apply(&team.route("only", ""));
    team.apply(POLICY);
    let ramping = team.cohort("Ramping").await;

    let hold = "hedgerow.dev/suspend.stream=2100-01-01T00:00:00Z";
    team.kubectl(&["annotate", "hp", "chat", hold, "--field-manager=hedgerow-resume"]);
    let held = team.cohort("Suspended").await;
    assert!(held["transition"].as_i64() > ramping["transition"].as_i64());
    assert_eq!(held["hold"]["until"], "2100-01-01T00:00:00Z");
    // The Event is the last that is written at a decision.
    let told = until("an Event", SOON, async || {
        let selector = "--field-selector=reason=HedgingSuspended";
        let events: Value =
            serde_json::from_str(&team.kubectl(&["get", "events", selector, "--output=json"])).unwrap();
        let events = events["items"].as_array().unwrap().clone();
        (!events.is_empty()).then_some(events)
    })
    .await;
    assert_eq!(told.len(), 1, "one transition, one Event: {told:?}");

    // The annotation may vanish: the hold is in status.
    team.kubectl(&["annotate", "hp", "chat", "hedgerow.dev/suspend.stream-"]);
    operator.scale(0);
    operator.scale(1);
    until("the new operator to lead", SOON, async || (!operator.leader().is_empty()).then_some(())).await;
    team.kubectl(&["patch", "hp", "chat", "--type=merge", "--patch", r#"{"spec":{"holdoutPercent":7}}"#]);
    team.condition("hedgepolicies", "chat", ["Programmed", "True", "Programmed"]).await;
    let after = team.cohort("Suspended").await;
    for field in ["transition", "since", "hold", "message"] {
        assert_eq!(held[field], after[field], "{field}");
    }

    team.kubectl(&[
        "annotate",
        "hp",
        "chat",
        "hedgerow.dev/resume.stream=now",
        "--field-manager=hedgerow-resume",
    ]);
    let resumed = team.cohort("Ramping").await;
    assert_eq!(resumed["lastHandledResume"], "now");
    assert!(resumed["hold"].is_null());
}

const POLICY: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: chat}
spec: {mode: Enforce, cohorts: [{name: stream}]}
";
