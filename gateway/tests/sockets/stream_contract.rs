//! A stream that is not what its policy asks for: it has been relayed by then, so its record and a counter say so.

use hedgerow_config::{cohort::Contract, state::InFlight};
use tokio::io::AsyncReadExt as _;

use crate::{
    pod::{ASKED, Then, ask, pod_answering},
    within,
};

/// What the record of an attempt says of the `contract` whose stream said `text` and stopped with `reason`.
async fn kept(contract: Contract, text: &str, reason: &str) -> bool {
    let text = serde_json::Value::from(text);
    let stream = format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text}}}}}]}}\n\n\
         data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\ndata: [DONE]\n\n"
    );
    let pod = pod_answering(&stream, Then::End, |config| config.settings.defaults.contract = contract);
    // Uneventful user actions are written one in ten.
    for _ in 0..200 {
        let mut client = ask(pod.address, ASKED).await;
        let mut head = [0; 12];
        within(client.read_exact(&mut head)).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
        pod.until(|held| held == InFlight::default()).await;
    }
    let records = pod.records();
    let attempts: Vec<_> = records.iter().filter_map(|record| record["contract_valid"].as_bool()).collect();
    assert!(attempts.iter().all(|valid| *valid == attempts[0]), "{attempts:?}");
    assert_eq!(attempts.len() == 200, !attempts[0], "what breaks the contract is always written");
    attempts[0]
}

#[tokio::test]
async fn a_stream_that_ends_as_its_policy_does_not_allow_is_recorded_as_such() {
    let contract =
        Contract { allowed_finish_reasons: vec!["stop".into(), "tool_calls".into()], ..Contract::default() };
    assert!(kept(contract.clone(), "x", "stop").await);
    assert!(!kept(contract, "x", "length").await);
}

#[tokio::test]
async fn a_stream_without_what_its_policy_requires_of_the_text_is_recorded_as_such() {
    let contract = Contract { required_json_pointers: vec!["/city".into()], ..Contract::default() };
    assert!(kept(contract.clone(), r#"{"city":"Oslo"}"#, "stop").await);
    assert!(!kept(contract, r#"{"town":"Oslo"}"#, "stop").await);
}
