//! Objects that the API server must refuse, offline: lint says exactly what each file expects, and every rule of every
//! kind has a file that breaks it. The same files go to a real API server in the target `cluster`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use hedgerow::lint::{Finding, Source, check};
use hedgerow_crds::Kind;
use hedgerow_tests::refused::{self, Expected};
use serde_json::Value;

#[test]
fn lint_says_what_each_file_expects_and_nothing_else() {
    for refused in refused::all().unwrap() {
        let source = Source::new(refused.file.display().to_string(), refused.text.clone());
        let mut found: Vec<_> = check(&[source], None)
            .into_iter()
            .filter(Finding::is_error)
            .map(|finding| Expected { rule: finding.rule, path: finding.path, message: finding.message })
            .collect();
        let mut expected = refused.expected.clone();
        found.sort_by(|a, b| (&a.path, &a.rule).cmp(&(&b.path, &b.rule)));
        expected.sort_by(|a, b| (&a.path, &a.rule).cmp(&(&b.path, &b.rule)));
        assert_eq!(found, expected, "{}", refused.file.display());
    }
}

/// A rule that compares with the stored object needs two of them; those are in the target `cluster`. Status is the
/// operator's: nobody applies it from a file.
#[test]
fn every_rule_is_broken_by_a_file() {
    let mut unbroken = BTreeSet::new();
    for kind in Kind::ALL {
        rules(kind.schema(), "", &mut |path, rule| {
            if !rule.contains("oldSelf") && !path.starts_with("status.") {
                unbroken.insert((kind, path.to_owned(), rule.to_owned()));
            }
        });
    }
    assert!(unbroken.len() > 100, "only {} rules were found", unbroken.len());
    for refused in refused::all().unwrap() {
        let object = refused.object().unwrap();
        for violation in refused.kind.violations(&object, None) {
            unbroken.remove(&(refused.kind, unindexed(&violation.path), violation.rule));
        }
    }
    assert!(unbroken.is_empty(), "no file in tests/crd breaks {unbroken:#?}");
}

/// Calls `visit` with every rule of a schema and the path that its error names, without positions in lists.
fn rules(schema: &Value, path: &str, visit: &mut impl FnMut(&str, &str)) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        let below = rule["fieldPath"].as_str().unwrap_or_default();
        let named = format!("{path}{below}");
        visit(named.trim_start_matches('.'), rule["rule"].as_str().unwrap());
    }
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        rules(below, &format!("{path}.{name}"), visit);
    }
    for below in ["items", "additionalProperties"] {
        if schema[below].is_object() {
            rules(&schema[below], path, visit);
        }
    }
}

fn unindexed(path: &str) -> String {
    path.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect()
}
