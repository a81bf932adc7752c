use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use super::*;
use hedgerow_config::gateway::FleetId;

#[derive(Default)]
struct Log {
    calls: Mutex<Vec<String>>,
    refuse: Mutex<Option<String>>,
}

impl Log {
    fn drain(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    fn note(&self, call: String) {
        self.calls.lock().unwrap().push(call);
    }
}

impl Target for Arc<Log> {
    fn apply(&self, config: GatewayConfig, _: String) -> Result<(), String> {
        self.note(format!("apply {}", config.fleet.name));
        self.refuse.lock().unwrap().clone().map_or(Ok(()), Err)
    }

    fn apply_fleet(&self, fleet: FleetFile) {
        self.note(format!("fleet {}", fleet.ready_replicas));
    }

    fn credentials_changed(&self) {
        self.note("credentials".to_owned());
    }

    fn reject(&self, _: String, message: String) {
        self.note(format!("reject {message}"));
    }
}

fn config(name: &str) -> Vec<u8> {
    let fleet = FleetId { namespace: "local".to_owned(), name: name.to_owned() };
    let text = br#"{"schema":"hedgerow.dev/gateway/v1","fleet":{"namespace":"","name":""}}"#;
    GatewayConfig { fleet, ..GatewayConfig::read(text).unwrap() }.write()
}

fn watcher(directory: &Path) -> (Watcher<Arc<Log>>, Arc<Log>) {
    let log = Arc::new(Log::default());
    let secrets = directory.join("secrets");
    let credentials = Arc::new(Credentials::default());
    (Watcher::new(directory.to_owned(), secrets, credentials, log.clone()), log)
}

#[test]
fn each_change_is_told_once_and_absence_is_no_change() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let (mut watcher, log) = watcher(at);
    watcher.look(1);
    assert_eq!(log.drain(), Vec::<String>::new());

    fs::write(at.join("gateway.json"), config("one")).unwrap();
    fs::write(
        at.join("fleet.json"),
        r#"{"schema":"hedgerow.dev/fleet/v1","readyReplicas":3,"heartbeatUnixMs":1}"#,
    )
    .unwrap();
    watcher.look(2);
    assert_eq!(log.drain(), ["fleet 3", "apply one"], "a lane starts with what the fleet knows");
    watcher.look(3);
    assert_eq!(log.drain(), Vec::<String>::new());

    fs::remove_file(at.join("gateway.json")).unwrap();
    watcher.look(4);
    assert_eq!(log.drain(), Vec::<String>::new());
    fs::write(at.join("gateway.json"), config("two")).unwrap();
    watcher.look(5);
    assert_eq!(log.drain(), ["apply two"]);
}

#[test]
fn a_bad_file_is_refused_as_a_whole_and_the_next_good_one_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let (mut watcher, log) = watcher(at);
    fs::write(at.join("gateway.json"), &config("cut")[..30]).unwrap();
    watcher.look(1);
    let calls = log.drain();
    assert!(calls.len() == 1 && calls[0].starts_with("reject gateway.json:"), "{calls:?}");
    fs::write(at.join("gateway.json"), config("good")).unwrap();
    watcher.look(2);
    assert_eq!(log.drain(), ["apply good"]);
}

#[test]
fn a_configuration_refused_for_a_missing_credential_is_tried_again_when_one_arrives() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let (mut watcher, log) = watcher(at);
    *log.refuse.lock().unwrap() = Some("secret ca/pem is not mounted".to_owned());
    fs::write(at.join("gateway.json"), config("one")).unwrap();
    watcher.look(1);
    assert_eq!(log.drain(), ["apply one", "reject secret ca/pem is not mounted"]);
    *log.refuse.lock().unwrap() = None;
    fs::create_dir_all(at.join("secrets/ca")).unwrap();
    fs::write(at.join("secrets/ca/pem"), "x").unwrap();
    watcher.look(2);
    assert_eq!(log.drain(), ["credentials", "apply one"]);
}

#[test]
#[cfg(unix)]
fn a_symlink_swap_as_kubernetes_does_it_is_noticed() {
    use std::os::unix::fs::symlink;
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    for version in ["one", "two"] {
        fs::create_dir(at.join(format!("..{version}"))).unwrap();
        fs::write(at.join(format!("..{version}/gateway.json")), config(version)).unwrap();
    }
    symlink("..one", at.join("..data")).unwrap();
    symlink("..data/gateway.json", at.join("gateway.json")).unwrap();
    let (mut watcher, log) = watcher(at);
    watcher.look(1);
    symlink("..two", at.join("..data_tmp")).unwrap();
    fs::rename(at.join("..data_tmp"), at.join("..data")).unwrap();
    watcher.look(2);
    assert_eq!(log.drain(), ["apply one", "apply two"]);
}
