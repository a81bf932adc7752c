use std::{collections::HashMap, os::unix::fs::PermissionsExt as _};

use super::*;
use crate::lint;

fn planned(variables: &[(&str, &str)]) -> Result<Plan, InitError> {
    let variables: HashMap<_, _> = variables.iter().copied().collect();
    plan(&|name| variables.get(name).map(|value| (*value).to_owned()))
}

fn findings(directory: &Path) -> Vec<lint::Finding> {
    let found = lint::files::find(&[directory.to_owned()]);
    assert_eq!(found.findings, []);
    lint::check(&found.sources, found.secrets.as_ref())
}

const ALL: [(&str, &str); 7] = [
    ("OPENAI_API_KEY", "sk-one"),
    ("ANTHROPIC_API_KEY", " sk-two\n"),
    ("AZURE_OPENAI_API_KEY", "three"),
    ("AZURE_OPENAI_ENDPOINT", "https://example.openai.azure.com/"),
    ("AZURE_OPENAI_DEPLOYMENT", "prod-gpt-4o"),
    ("AZURE_OPENAI_API_VERSION", "2024-10-21"),
    ("AZURE_OPENAI_REGION", "swedencentral"),
];

#[test]
fn what_is_written_for_all_providers_lints_clean() {
    let directory = tempfile::tempdir().unwrap();
    let plan = planned(&ALL).unwrap();
    assert_eq!(plan.providers, ["openai", "azure", "anthropic"]);
    let outcomes = write(&plan, directory.path()).unwrap();
    assert!(outcomes.iter().all(|(_, outcome)| *outcome == Outcome::Written));
    assert_eq!(findings(directory.path()), []);
}

#[test]
fn one_provider_lints_without_an_error_and_is_told_that_hedges_need_another() {
    for keys in [&ALL[..1], &ALL[1..2], &ALL[2..4]] {
        let directory = tempfile::tempdir().unwrap();
        write(&planned(keys).unwrap(), directory.path()).unwrap();
        let findings = findings(directory.path());
        let rules: Vec<_> =
            findings.iter().map(|finding| (finding.rule.as_str(), finding.is_error())).collect();
        assert_eq!(rules, [("cross/nothing-to-hedge-to", false)], "{keys:?}: {findings:?}");
    }
}

#[test]
fn keys_are_in_files_that_only_their_owner_reads_and_nowhere_else() {
    let directory = tempfile::tempdir().unwrap();
    let plan = planned(&ALL).unwrap();
    for (path, _) in write(&plan, directory.path()).unwrap() {
        let text = fs::read_to_string(&path).unwrap();
        let secret = path.starts_with(directory.path().join("secrets"));
        assert_eq!(["sk-one", "sk-two", "three"].contains(&text.as_str()), secret, "{}", path.display());
        assert_eq!(
            secret,
            fs::metadata(&path).unwrap().permissions().mode() & 0o777 == 0o600,
            "{}",
            path.display()
        );
        assert!(secret || !(text.contains("sk-") || text.contains("three")), "{}", path.display());
    }
    assert!(!format!("{plan:?}").contains("sk-one"));
}

#[test]
fn files_that_exist_are_kept_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("chat.yaml"), "mine").unwrap();
    let outcomes = write(&planned(&ALL[..1]).unwrap(), directory.path()).unwrap();
    let kept: Vec<_> = outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Kept).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::read_to_string(directory.path().join("chat.yaml")).unwrap(), "mine");
}

#[test]
fn a_rotated_key_is_kept_and_said_to_differ_from_its_variable() {
    let directory = tempfile::tempdir().unwrap();
    write(&planned(&ALL[..1]).unwrap(), directory.path()).unwrap();
    let again = |key: &str| {
        let outcomes = write(&planned(&[("OPENAI_API_KEY", key)]).unwrap(), directory.path()).unwrap();
        outcomes
            .into_iter()
            .find(|(path, _)| path.parent().unwrap().ends_with("hedgerow-default-keys"))
            .unwrap()
            .1
    };
    assert_eq!(again("sk-one"), Outcome::Kept);
    assert_eq!(again("sk-two"), Outcome::KeptOther("OPENAI_API_KEY"));
    assert_eq!(
        fs::read_to_string(directory.path().join("secrets/hedgerow-default-keys/openai")).unwrap(),
        "sk-one"
    );
}

#[test]
fn everything_that_standalone_writes_beside_the_files_is_ignored_by_git() {
    let plan = planned(&ALL[..1]).unwrap();
    let ignored = plan.files.iter().find(|file| file.path == ".gitignore").unwrap();
    assert_eq!(ignored.text.lines().collect::<Vec<_>>(), ["secrets/", ".status/", ".run/"]);
}

#[test]
fn a_directory_that_cannot_be_made_is_named_with_its_cause_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = anyhow::Error::from(write(&planned(&ALL[..1]).unwrap(), &file).unwrap_err());
    // As the command prints it.
    let text = format!("{error:#}");
    assert!(text.contains(&file.display().to_string()), "{text}");
    assert_eq!(text.matches("os error").count(), 1, "{text}");
}

#[test]
fn what_cannot_be_used_is_refused_by_name_and_without_its_value() {
    assert_eq!(planned(&[]), Err(InitError::NoKey));
    assert_eq!(planned(&[("OPENAI_API_KEY", "  ")]), Err(InitError::NoKey));
    let missing = planned(&ALL[2..3]).unwrap_err();
    assert!(missing.to_string().contains("AZURE_OPENAI_ENDPOINT"), "{missing}");
    for name in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY"] {
        let error = planned(&[(name, "sk-a\nsk-b")]).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("one line") && !error.contains("sk-"), "{error}");
    }
    for endpoint in
        ["http://example.com", "https://", "https://a b", "https://x\nkind: Evil", "https://u:p@h"]
    {
        let error =
            planned(&[("AZURE_OPENAI_API_KEY", "k"), ("AZURE_OPENAI_ENDPOINT", endpoint)]).unwrap_err();
        assert!(
            matches!(error, InitError::Value { name: "AZURE_OPENAI_ENDPOINT", .. }),
            "{endpoint}: {error}"
        );
    }
}
