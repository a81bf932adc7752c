//! Whether every report and every kind of thing that must hold on the wire is covered, and by what.
//!
//! Why: a list that nobody holds against the tests says what somebody meant once. Inputs: `reports.yaml`, the case files,
//! the sources that it names. Outputs: what waits and why, by name. Must hold: no report is missing or there twice, every
//! case and every function that is named exists, and what waits says why and is not also covered.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde::Deserialize;

use crate::{GROUPS, case::Case};

/// Reports by the letter of their kind, as they were collected; the numbers that are not there did not concern a gateway.
const REPORTS: [(&str, &[u32]); 12] = [
    ("A", &[1, 2, 3, 4, 6, 7, 9, 11, 13, 14, 15, 17]),
    ("B", &[1, 2, 4, 5, 7, 9]),
    ("C", &[1, 3, 4, 5, 7, 9, 10, 11, 12]),
    ("D", &[1, 2, 4, 6]),
    ("E", &[1, 2, 4, 5, 7, 9, 10, 11, 13]),
    ("F", &[1, 2, 4, 7, 8, 10, 11, 12, 13]),
    ("G", &[2, 4, 6, 7, 9, 11]),
    ("H", &[1, 2, 4]),
    ("I", &[1, 2, 4, 6, 7, 9, 10, 11, 12, 14, 15, 18]),
    ("J", &[1, 3, 4, 5]),
    ("K", &[1, 2, 4]),
    ("L", &[1, 2, 4]),
];

/// A row of the list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// A report, or a kind in words.
    id: String,
    /// Cases of the files.
    #[serde(default)]
    cases: Vec<String>,
    /// A file below the root of the tree and a function in it.
    #[serde(default)]
    tests: Vec<String>,
    /// What it waits for.
    why: Option<String>,
}

fn rows() -> Vec<Row> {
    serde_saphyr::from_str(include_str!("reports.yaml"))
        .unwrap_or_else(|error| panic!("reports.yaml: {error}"))
}

/// Ids of all cases; each is there once.
fn cases() -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for (name, text) in GROUPS {
        let cases: Vec<Case> =
            serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{name}.yaml: {error}"));
        for case in cases {
            assert!(ids.insert(case.id.clone()), "{} is there twice, once in {name}.yaml", case.id);
        }
    }
    ids
}

#[test]
fn every_report_is_covered_by_a_case_or_a_test_that_exists_or_waits_by_name() {
    let (cases, mut files) = (cases(), BTreeMap::new());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut covered, mut waiting) = (0, 0);
    for Row { id, cases: by, tests, why } in rows() {
        assert_eq!(by.is_empty() && tests.is_empty(), why.is_some(), "{id}: covered, or waiting");
        for case in by {
            assert!(cases.contains(&case), "{id}: there is no case {case}");
        }
        for test in tests {
            let (file, name) = test.split_once(' ').unwrap_or_else(|| panic!("{id}: {test:?} is no test"));
            let source = files.entry(file.to_owned()).or_insert_with(|| {
                fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{id}: {file}: {error}"))
            });
            assert!(source.contains(&format!("fn {name}(")), "{id}: there is no {name} in {file}");
        }
        match why {
            None => covered += 1,
            Some(why) => {
                println!("wait {id} {why}");
                waiting += 1;
            }
        }
    }
    println!("{covered} rows covered, {waiting} waiting, {} cases", cases.len());
}

#[test]
fn no_report_is_missing_and_none_is_there_twice() {
    let mut ids: Vec<String> = rows().into_iter().map(|row| row.id).collect();
    ids.sort();
    let all = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), all, "a row is there twice");
    let mut known = 0;
    for (kind, numbers) in REPORTS {
        for number in numbers {
            let id = format!("{kind}{number}");
            assert!(ids.contains(&id), "{id} is not in reports.yaml");
            known += 1;
        }
    }
    assert_eq!(known, 80);
}
