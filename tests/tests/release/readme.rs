//! The way through Kubernetes as the README shows it, line by line.

use std::fs;

use crate::stand::{Stand, TEAM, root};

/// Commands of the section, in order; continued lines are one command.
fn commands() -> Vec<String> {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let section =
        readme.split("\n## On Kubernetes\n").nth(1).expect("the README has a section On Kubernetes");
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let text: String = blocks.collect::<String>().replace("\\\n", " ");
    text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn every_command_of_the_readme_does_what_it_says() {
    let stand = Stand::bare();
    let pods = |stand: &Stand| {
        stand.kubectl(&["-n", TEAM, "get", "pods", "-l", "hedgerow.dev/fleet=default", "-o", "name"])
    };
    let commands = commands();
    assert!(commands.len() >= 10, "{commands:?}");
    let mut removed = false;
    for command in commands {
        let running = pods(&stand);
        let said = stand.shell(&format!("export OPENAI_API_KEY=sk-test; {command}"));
        println!("$ {command}\n{said}");
        if command.starts_with("helm install") {
            assert!(said.contains("STATUS: deployed"), "{said}");
        } else if command.contains("get gf") {
            assert!(said.contains("hedgerow-default.team-a.svc:8080"), "{said}");
        } else if command.contains("/v1/models") {
            assert!(said.contains("gpt-4o"), "{said}");
        } else if command.contains("describe hp") {
            assert!(
                said.contains("Observing") || said.contains("Ramping") || said.contains("Active"),
                "{said}"
            );
        } else if command.starts_with("helm uninstall") {
            removed = true;
            assert_eq!(pods(&stand), running, "gateways go on without their operator");
            assert_ne!(running, "", "there are gateways");
        } else if command.contains("delete gf") {
            assert!(removed, "an operator would bring them back");
            stand.kubectl(&[
                "-n",
                TEAM,
                "wait",
                "--for=delete",
                "pod",
                "-l",
                "hedgerow.dev/fleet=default",
                "--timeout=120s",
            ]);
        }
    }
    let left = stand.kubectl(&["get", "customresourcedefinitions", "-o", "name"]);
    assert!(!left.contains("hedgerow.dev"), "{left}");
}
