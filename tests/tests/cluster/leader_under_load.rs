//! The leader is lost under load, once without warning and once by a deletion that gives the Lease back.

use std::time::Instant;

use crate::{
    installation::Installation,
    load::{Load, busy_team},
    right::right_again,
    team::Team,
};

#[tokio::test]
async fn a_lost_leader_is_replaced_and_what_was_changed_meanwhile_is_in_force() {
    let team = Team::new("lost");
    let operator = Installation::of(&team, 2, &[]);
    busy_team(&team, "default").await;
    let load = Load::start(&team, "default").await;
    let pods = team.pods().await;

    for (how, holdout) in [("killed", 7), ("deleted", 8)] {
        let first = operator.leader();
        if how == "killed" {
            operator.kill(&first);
        } else {
            operator.kubectl(&["delete", "pod", &first, "--wait=false"]);
        }
        let lost = Instant::now();
        let patch = format!(r#"{{"spec":{{"holdoutPercent":{holdout}}}}}"#);
        team.kubectl(&["patch", "hp", "default-chat", "--type=merge", "--patch", &patch]);
        operator.next_leader(&first).await;
        println!("leader {how}: another one after {:.1?}", lost.elapsed());
        println!("leader {how}: right after {:.1?}", right_again(&team, lost).await);
    }
    assert_eq!(team.pods().await, pods, "gateways do not notice");
    load.turn_over().await;
    load.was_unharmed("two lost leaders").await;
}
