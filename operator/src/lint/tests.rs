use proptest::prelude::*;

use super::*;
use crate::domain::LOCAL;

const LANE: &str =
    "apiVersion: hedgerow.dev/v1alpha1\nkind: PriorityLane\nmetadata:\n  name: NAME\nspec: {}\n";

fn lane(name: &str) -> String {
    LANE.replace("NAME", name)
}

#[test]
fn a_file_that_is_too_long_or_no_text_is_a_finding_at_its_place() {
    let long = Source::from_bytes("a.yaml", vec![b'#'; MAX_BYTES + 1]).unwrap_err();
    assert_eq!((long.rule.as_str(), long.line), ("yaml/too-long", 1));
    let latin = Source::from_bytes("a.yaml", b"a: 1\nb: \xe9\n".to_vec()).unwrap_err();
    assert_eq!((latin.rule.as_str(), latin.line), ("yaml/encoding", 2));
    assert!(Source::from_bytes("a.yaml", vec![b'#'; MAX_BYTES]).is_ok());
}

#[test]
fn one_broken_object_takes_away_no_other() {
    let text = [lane("a"), lane("b").replace("spec", "spek"), lane("c")].join("---\n");
    let file = read(&Source::new("f.yaml", text));
    let names: Vec<_> = file.documents.iter().map(|document| document.resource.name()).collect();
    assert_eq!((names, file.objects), (vec!["a", "c"], 3));
    assert!(file.has_errors());
}

#[test]
fn of_objects_with_the_same_name_the_first_is_used() {
    let files = [
        read(&Source::new("1.yaml", lane("a"))),
        read(&Source::new("2.yaml", lane("a").replace("{}", "{priority: 9}") + "---\n" + &lane("b"))),
    ];
    let selected = select(&[&files[0], &files[1]]);
    let expected = [&files[0].documents[0].resource, &files[1].documents[1].resource];
    assert_eq!(selected.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn objects_of_two_namespaces_do_not_meet_unless_they_are_moved_into_one() {
    let elsewhere = lane("a").replace("metadata:", "metadata:\n  namespace: other");
    let sources = [Source::new("1.yaml", lane("a")), Source::new("2.yaml", elsewhere)];
    assert!(!check(&sources, None).iter().any(Finding::is_error));
    let moved = sources.map(|source| source.in_namespace(LOCAL));
    let findings = check(&moved, None);
    let errors: Vec<_> = findings.iter().filter(|finding| finding.is_error()).collect();
    assert_eq!(
        errors.iter().map(|finding| finding.rule.as_str()).collect::<Vec<_>>(),
        ["cross/duplicate-object"]
    );
}

#[test]
fn programs_get_the_documented_fields() {
    let findings = check(&[Source::new("f.yaml", lane("a").replace("{}", "{priority: 1001}"))], None);
    let json: serde_json::Value = serde_json::from_str(&report::json(&findings)).unwrap();
    let expected = serde_json::json!([{
        "file": "f.yaml", "line": 5, "column": 8, "severity": "error", "kind": "PriorityLane", "name": "a",
        "path": "spec.priority", "rule": "schema/maximum", "message": "1001 is too large: at most 1000",
    }]);
    assert_eq!(json, expected);
}

#[test]
fn a_report_counts_and_says_so_when_all_is_well() {
    assert_eq!(report::text(&[], 1, 2), "1 file, 2 objects: nothing to complain about\n");
}

#[test]
fn a_directory_stands_for_its_yaml_and_hidden_names_are_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for name in [
        "b.yaml",
        "sub/a.yml",
        ".hidden.yaml",
        ".status/x.yaml",
        "secrets/s/key.yaml",
        "notes.txt",
        "kustomization.yaml",
    ] {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, lane("x")).unwrap();
    }
    let found = files::find(&[root.to_owned()]);
    let names: Vec<_> = found
        .sources
        .iter()
        .map(|source| source.file.strip_prefix(&format!("{}/", root.display())).unwrap())
        .collect();
    assert_eq!(names, ["b.yaml", "sub/a.yml"]);
    assert!(found.secrets.unwrap().contains("s", "key.yaml"));
    for (text, sendable) in [("sk-a\r\n\n", Some(true)), ("sk-a\nsk-b", Some(false)), ("", None)] {
        std::fs::write(root.join("notes.txt"), text).unwrap();
        assert_eq!(files::sendable(&root.join("notes.txt")), sendable, "{text:?}");
    }
    std::os::unix::fs::symlink(root, root.join("sub/loop")).unwrap();
    let looped = files::find(&[root.to_owned()]);
    assert_eq!((looped.sources.len(), looped.findings.len()), (2, 1), "each directory is read once");
    assert!(looped.findings[0].message.contains("loop") && looped.findings[0].file.ends_with("sub/loop"));
    let missing = files::find(&[root.join("none.yaml")]);
    assert_eq!(missing.findings[0].rule, "yaml/unreadable");
}

#[test]
fn a_directory_without_yaml_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("notes.txt"), "x").unwrap();
    let findings = files::find(&[directory.path().to_owned()]).findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].is_error() && findings[0].message.contains("no YAML file"), "{}", findings[0]);
    assert_eq!(findings[0].file, directory.path().display().to_string());
}

#[test]
fn a_missing_key_is_said_of_a_directory_with_secrets_as_standalone_says_it() {
    let directory = tempfile::tempdir().unwrap();
    let (route, key) =
        (directory.path().join("openai.yaml"), directory.path().join("secrets/hedgerow-default-keys/openai"));
    std::fs::write(&route, include_str!("../../../crds/examples/openai-east.yaml")).unwrap();
    let missing = || {
        let found = files::find(&[directory.path().to_owned()]);
        let findings = check(&found.sources, found.secrets.as_ref());
        findings.into_iter().find(|finding| finding.rule == "cross/secret-missing")
    };
    assert_eq!(missing(), None, "without a directory of secrets nothing is known of them");
    std::fs::create_dir_all(key.parent().unwrap()).unwrap();
    let finding = missing().unwrap();
    assert!(
        finding.is_error() && finding.message.contains("secrets/hedgerow-default-keys/openai"),
        "{finding}"
    );
    std::fs::write(&key, "sk-one").unwrap();
    assert_eq!(missing(), None);
}

#[test]
fn a_named_pipe_is_a_finding_and_is_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe.yaml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for argument in [&*pipe, directory.path()] {
        let findings = files::find(&[argument.to_owned()]).findings;
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].message.contains("named pipe"), "{}", findings[0]);
    }
}

/// Pieces that make YAML interesting, in any order.
fn soup() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "apiVersion: hedgerow.dev/v1alpha1\n",
        "kind: HedgePolicy\n",
        "metadata:\n  name: a\n",
        "spec:\n",
        "  cohorts:\n",
        "    - name: x\n",
        "  mode: ",
        "Off",
        "&a ",
        "*a\n",
        "{",
        "}",
        "[",
        "]",
        "\n",
        "---\n",
        ": ",
        "- ",
        "\t",
        "\"",
        "'",
        "!!str ",
        "é",
        "1",
        "~",
        "|\n",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_text_makes_lint_fail_and_every_place_is_in_the_file(text in soup()) {
        let lines = u32::try_from(text.lines().count()).unwrap() + 1;
        for finding in check(&[Source::new("f.yaml", text.clone())], None) {
            prop_assert!((1..=lines).contains(&finding.line), "{finding}");
            prop_assert!(finding.column >= 1);
            prop_assert!(!finding.message.is_empty() && finding.rule.contains('/'));
        }
    }
}

proptest! {
    // Each case judges up to eleven objects, rules included.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn cutting_a_valid_file_anywhere_is_survived(cut in 0_usize..400) {
        let text = include_str!("../../testdata/compile/conflicts.in.yaml");
        let cut = text.floor_char_boundary(cut * text.len() / 400);
        check(&[Source::new("f.yaml", &text[..cut])], None);
    }
}
