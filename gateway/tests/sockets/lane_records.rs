//! User actions that their lane refuses, or that leave its queue, are written down.

use std::time::Duration;

use hedgerow_config::{GatewayConfig, Lane, lane::Algorithm, state::InFlight};
use hedgerow_gateway::front::server::Limits;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use crate::{
    pod::{Pod, plain, pod},
    within,
};

/// One lane of two places whose queue holds one more for `max_wait_ms`.
fn narrow(config: &mut GatewayConfig, max_wait_ms: u64) {
    let mut lane = Lane { name: "narrow".into(), ..Lane::built_in() };
    lane.concurrency.algorithm = Algorithm::Fixed;
    lane.concurrency.initial = 2;
    lane.concurrency.min = 2;
    lane.queue.max_wait_ms = max_wait_ms;
    lane.queue.max_depth_percent = 100;
    config.lanes.push(lane);
}

/// What the only record says that was written while the first two user actions went on.
fn facts(pod: Pod) -> Value {
    let records = pod.records();
    let [record, ..] = records.as_slice() else { panic!("no record") };
    let keys = ["event", "attempts", "lane", "status", "status_class", "error", "shed", "cost_micros"];
    keys.iter().map(|key| record[*key].clone()).collect()
}

#[tokio::test]
async fn a_shed_user_action_is_written_down_with_its_reason() {
    let pod = pod(Limits::default(), |config| narrow(config, 0));
    let _held = [plain(pod.address).await, plain(pod.address).await];
    pod.until(|held| held.lane_permits == 2).await;
    let mut shed = plain(pod.address).await;
    let mut head = [0; 12];
    within(shed.read_exact(&mut head)).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 429");
    pod.until(|held| held.actions == 2).await;
    let facts = facts(pod);
    assert_eq!(
        facts,
        json!(["user_action_complete", 0, "narrow", 429, "shed", "gateway_overloaded", "LaneFull", 0])
    );
}

#[tokio::test]
async fn a_client_that_leaves_the_queue_is_written_down_too() {
    let pod = pod(Limits::default(), |config| narrow(config, 60_000));
    let held = [plain(pod.address).await, plain(pod.address).await];
    pod.until(|held| held.lane_permits == 2).await;
    let waiting = plain(pod.address).await;
    pod.until(|held| held.actions == 3).await;
    drop(waiting);
    pod.until(|held| held.actions == 2).await;
    let runtime = pod.runtime.clone();
    let facts = facts(pod);
    assert_eq!(facts, json!(["user_action_complete", 0, "narrow", 499, "canceled", "client_gone", null, 0]));
    drop(held);
    within(async {
        while runtime.in_flight() != InFlight::default() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}
