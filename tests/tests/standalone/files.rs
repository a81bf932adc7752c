//! Files are the only input: what they say is in force while they say it.

use std::fs;

use crate::bench::{Bench, condition, route, until};

#[tokio::test(flavor = "multi_thread")]
async fn yaml_in_answers_out_and_status_beside_the_files() {
    let bench = Bench::new(5.0).await;
    let running = bench.start().await;
    let (status, body) = bench.ask(&running, "chat").await;
    assert_eq!(status, 200, "{body}");
    assert!(body["choices"][0]["message"]["content"].as_str().unwrap().starts_with("region-"), "{body}");
    assert_eq!(bench.models(&running).await, ["chat"]);
    until(&running, "the request is counted", |view| view.fleets[0].totals.requests == 1).await;
    for name in ["region-a", "region-b"] {
        let object = bench.status("ProviderRoute", name);
        assert_eq!(condition(&object, "Ready")["status"], "True", "{object}");
        assert_eq!(object["status"]["observedGeneration"], 1);
    }
    let fleet = bench.status("GatewayFleet", "default");
    assert_eq!(fleet["status"]["pods"]["programmed"], 1, "{fleet}");
    running.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_taken_up_live_and_a_broken_file_changes_nothing() {
    let bench = Bench::new(5.0).await;
    let running = bench.start().await;
    let port = bench.providers[0].addr().port();
    let two = route("a", port, "chat").replace("  rampUp:", "    - name: extra\n  rampUp:");
    bench.write("region-a.yaml", &two);
    let in_force = |view: &hedgerow::standalone::View, digest: &str| {
        let fleet = &view.fleets[0];
        fleet.digest != digest && fleet.pods.iter().all(|pod| pod.digest == fleet.digest)
    };
    let before = running.view().fleets[0].digest.clone();
    until(&running, "the new model is in force", |view| in_force(view, &before)).await;
    assert_eq!(bench.models(&running).await, ["chat", "extra"]);
    assert_eq!(bench.ask(&running, "extra").await.0, 200);

    bench.write("region-a.yaml", &two.replace("  api: OpenAI", "  api: OpenAI\n  wieght: 3"));
    let broken = until(&running, "the error is reported", |view| !view.problems.is_empty()).await;
    let problem = &broken.problems[0];
    assert!(problem.contains("region-a.yaml:7") && problem.contains("wieght"), "{problem}");
    assert_eq!(bench.ask(&running, "extra").await.0, 200, "the last good route is still in force");
    let accepted = || {
        let object = bench.status("ProviderRoute", "region-a");
        condition(&object, "Accepted")["message"].as_str().unwrap().to_owned()
    };
    until(&running, "the route's status says so", |_| accepted().contains("region-a.yaml:7")).await;

    fs::remove_file(bench.path().join("region-a.yaml")).unwrap();
    let digest = broken.fleets[0].digest.clone();
    until(&running, "the route is gone", |view| in_force(view, &digest)).await;
    assert_eq!(bench.models(&running).await, ["chat"]);
    assert!(!bench.path().join(".status/ProviderRoute.region-a.yaml").exists());
    running.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn in_an_outage_every_request_counts_as_failed_and_after_the_end_nothing_reads_as_ready() {
    let bench = Bench::new(5.0).await;
    let running = bench.start().await;
    bench.fail();
    for _ in 0..6 {
        assert_eq!(bench.ask(&running, "chat").await.0, 500);
    }
    let view = until(&running, "all are counted", |view| view.fleets[0].totals.failed == 6).await;
    assert_eq!(view.fleets[0].totals.requests, 6);
    running.shutdown().await.unwrap();
    for (kind, name) in [("GatewayFleet", "default"), ("ProviderRoute", "region-a")] {
        let object = bench.status(kind, name);
        let programmed = condition(&object, "Programmed");
        assert_eq!(
            (&programmed["status"], &programmed["reason"]),
            (&"False".into(), &"NoReadyPods".into()),
            "{object}"
        );
        assert!(programmed["message"].as_str().unwrap().contains("standalone has ended"), "{programmed}");
        assert_ne!(condition(&object, "Ready")["status"], "True", "{object}");
    }
    assert_eq!(bench.status("GatewayFleet", "default")["status"]["pods"]["ready"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_key_is_said_where_the_user_looks_and_the_other_route_serves() {
    let bench = Bench::new(5.0).await;
    let file = bench.path().join("region-a.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let with_key = "    type: Bearer\n    secretRef:\n      name: hedgerow-keys\n      key: openai";
    fs::write(&file, text.replace("    type: None", with_key)).unwrap();
    let running = bench.start().await;
    for _ in 0..4 {
        assert_eq!(bench.ask(&running, "chat").await.0, 200);
    }
    until(&running, "some rounds passed", |view| view.fleets[0].totals.requests == 4).await;
    let object = bench.status("ProviderRoute", "region-a");
    let resolved = condition(&object, "ResolvedRefs");
    assert_eq!(
        (resolved["status"].as_str(), resolved["reason"].as_str()),
        (Some("False"), Some("SecretNotFound"))
    );
    assert!(resolved["message"].as_str().unwrap().contains("secrets/hedgerow-keys/openai"), "{resolved}");
    assert_eq!(bench.providers[0].stats().requests, 0, "nobody is asked without a key");

    fs::create_dir_all(bench.path().join("secrets/hedgerow-keys")).unwrap();
    bench.write("secrets/hedgerow-keys/openai", "sk-1");
    let resolved = || {
        let object = bench.status("ProviderRoute", "region-a");
        condition(&object, "ResolvedRefs")["status"] == "True"
    };
    until(&running, "the key is seen", |_| resolved()).await;
    running.shutdown().await.unwrap();
}
