//! The binary: a provider that says where it listens, and traffic that says what it measured.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use serde_json::Value;

/// Ends the process when the test ends, however it ends.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_hedgerow-sim"))
}

#[test]
fn traffic_and_provider_work_as_two_processes() {
    let arguments = ["provider", "--name", "b", "--profile", r#"{"firstToken":{"fixed":{"ms":5}}}"#];
    let mut provider = Ended(command().args(arguments).stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(provider.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let addr = said["addr"].as_str().unwrap();
    assert_eq!(
        (said["name"].as_str(), said["baseUrl"].as_str()),
        (Some("b"), Some(&*format!("http://{addr}")))
    );
    let measured =
        command().args(["traffic", "--target", addr, "--rps", "50", "--seconds", "1"]).output().unwrap();
    let measured: Value = serde_json::from_slice(&measured.stdout).unwrap();
    assert!(measured["requests"].as_u64().unwrap() > 10, "{measured}");
    assert_eq!(measured["requests"], measured["answered"], "{measured}");
    assert!(measured["p50Ms"].as_f64().unwrap() >= 5.0, "{measured}");
}

#[test]
fn a_wrong_profile_is_refused_with_the_reason() {
    let output = command().args(["provider", "--profile", r#"{"first":1}"#]).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("unknown field `first`"));
}

/// A provider that cuts every answer at its fourth token.
const CUTS: &str = r#"{"firstToken":{"fixed":{"ms":5}},"faults":[{"percent":100,"fault":{"cutAtToken":3}}]}"#;

#[test]
fn sessions_say_what_was_cut_and_what_was_refused_in_words() {
    for (profile, port, [cut, refused]) in
        [(CUTS, None, [true, false]), ("{}", Some("127.0.0.1:1"), [false, true])]
    {
        let mut provider =
            Ended(command().args(["provider", "--profile", profile]).stdout(Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(provider.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let target = port.unwrap_or_else(|| said["addr"].as_str().unwrap());
        let sessions = ["--sessions", "4", "--requests-per-connection", "2", "--seconds", "1", "--progress"];
        let output = command().args(["traffic", "--target", target]).args(sessions).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.len() > 1, "it tells of its progress: {text}");
        let last = lines.last().unwrap();
        assert_eq!(last["requests"], last["failed"], "{last}");
        assert_eq!(
            [last["cut"] == last["failed"], last["refused"] == last["failed"]],
            [cut, refused],
            "{last}"
        );
        let failure = last["failures"][0].as_str().unwrap();
        assert!(failure.contains(if cut { "3 tokens" } else { "cannot connect" }), "{failure}");
    }
}
