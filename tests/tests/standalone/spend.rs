//! The day's spend goes on over a restart.

use serde_json::Value;

use crate::bench::{Bench, until};

const POLICY: &str = "apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata:
  name: chat
spec:
  mode: Observe
  cohorts:
    - name: json
      match:
        stream: false
";

/// Total of the day and the day, as the status says.
fn spent(bench: &Bench) -> (u64, Value) {
    let spend = bench.status("HedgePolicy", "chat")["status"]["spend"].clone();
    (spend["totalMicros"].as_u64().unwrap(), spend["date"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_goes_on_with_what_the_day_has_cost() {
    let bench = Bench::new(5.0).await;
    bench.write("policy.yaml", POLICY);
    let running = bench.start().await;
    for _ in 0..20 {
        assert_eq!(bench.ask(&running, "chat").await.0, 200);
    }
    until(&running, "all requests to be counted", |view| view.fleets[0].totals.requests == 20).await;
    running.shutdown().await.unwrap();
    let (before, day) = spent(&bench);
    assert!(before > 0, "twenty priced answers");

    let running = bench.start().await;
    assert_eq!(bench.ask(&running, "chat").await.0, 200);
    until(&running, "the request to be counted", |view| view.fleets[0].totals.requests == 1).await;
    running.shutdown().await.unwrap();
    let (after, same_day) = spent(&bench);
    assert_eq!(day, same_day, "it has become midnight UTC in between: run it again");
    assert!(
        after > before && after < 2 * before,
        "{before} micro-units before, {after} after one more answer"
    );
}
