//! What has to be repaired in Git fails the delivery at once, by name; the rest of it stays ready.

use crate::{delivery::Delivery, installation::Installation, team::Team};

fn lane(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: hedgerow.dev/v1alpha1\nkind: PriorityLane\nmetadata: {{name: {name}}}\nspec: {spec}\n"
    )
}

#[tokio::test]
async fn an_object_that_was_not_accepted_fails_the_delivery_by_name_until_git_repairs_it() {
    let team = Team::new("stalled");
    let _operator = Installation::of(&team, 1, &[]);
    let delivery = Delivery::of(&team);
    let files = [("route", team.route("only", "")), ("first", lane("first", "{}"))];
    let files = files.each_ref().map(|(name, text)| (*name, Some(text.as_str())));
    delivery.ready(&delivery.commit("a route and a lane", &files)).await;

    let second = lane("second", "{priority: 7}");
    let said = delivery.failed(&delivery.commit("one more lane for all", &[("second", Some(&second))])).await;
    let expected = format!("stalled resources: [PriorityLane/{}/second status: 'Failed']", team.namespace);
    assert!(said.ends_with(&expected), "only what is wrong, and long before the time is over: {said}");
    let stalled = team.condition("prioritylanes", "second", ["Stalled", "True", "Conflicted"]).await;
    let message = stalled["message"].as_str().unwrap();
    assert!(message.starts_with("lane first ") && message.contains("add a match"), "what to do: {message}");

    let repaired = lane("second", "{priority: 7, match: {headers: {x-lane: batch}}}");
    delivery.ready(&delivery.commit("with a match", &[("second", Some(&repaired))])).await;
}
