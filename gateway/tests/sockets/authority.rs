//! A route's own authority that is missing, broken, there.

use std::{fs, time::Duration};

use hedgerow_config::{GatewayConfig, State, route::SecretKey};
use hedgerow_gateway::app::{App, Options};

use crate::{
    peer::{pki, route},
    within,
};

/// Why the second route takes no attempts, and whether its authority is there.
fn second(state: &State) -> (String, bool) {
    (state.routes[1].blocked.clone(), state.credentials[0].present)
}

#[tokio::test]
async fn a_missing_or_broken_authority_closes_its_own_route_and_is_taken_up_when_it_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let text = br#"{"schema":"hedgerow.dev/gateway/v1","fleet":{"namespace":"local","name":"default"}}"#;
    let mut config = GatewayConfig::read(text).unwrap();
    let mut private = route("https://provider.test");
    private.name = "second".to_owned();
    private.uid = "second".to_owned();
    private.tls.ca = Some(SecretKey { name: "ca".to_owned(), key: "ca.crt".to_owned() });
    config.routes = vec![route("http://provider.test"), private];
    fs::write(directory.path().join("gateway.json"), config.write()).unwrap();
    let running = App::start(Options::local(directory.path().to_owned())).await.unwrap();
    within(running.ready()).await;
    assert_eq!(second(&running.runtime.state()), ("NotSetUp".to_owned(), false));
    assert_eq!(running.runtime.state().rejected, None, "the other route serves");

    let file = directory.path().join("secrets/ca/ca.crt");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let (good, broken) = (pki(&[]).ca, "no certificate".to_owned());
    for (written, blocked, present) in [
        (&broken, "NotSetUp", false),
        (&good, "", true),
        // What was good before is used on; the report says what is mounted now.
        (&broken, "", false),
        (&good, "", true),
    ] {
        fs::write(&file, written).unwrap();
        let fingerprint = running.runtime.state().credentials[0].fingerprint.clone();
        within(async {
            while running.runtime.state().credentials[0].fingerprint == fingerprint {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            while second(&running.runtime.state()) != (blocked.to_owned(), present) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}
