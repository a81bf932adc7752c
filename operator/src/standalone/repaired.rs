//! What is good again, so that who repairs a file or mounts a key sees that it worked.
//!
//! Input: the findings before and after a change of the files. Output: the files that had an error and have none, or had a
//! finding of any kind and have none; a file that is gone is not good, it is gone.

use std::{collections::BTreeSet, path::Path};

use crate::lint::Finding;

/// The files below `directory` that are good again, by name.
pub(super) fn repaired<'a>(before: &'a [Finding], after: &[Finding], directory: &Path) -> Vec<&'a str> {
    let files = |findings: &[Finding], only_errors: bool| -> BTreeSet<String> {
        let counted = findings.iter().filter(|finding| finding.is_error() || !only_errors);
        counted.map(|finding| finding.file.clone()).collect()
    };
    let (wrong, faulty) = (files(before, true), files(after, true));
    let complained = files(after, false);
    let names: BTreeSet<&str> = before.iter().map(|finding| finding.file.as_str()).collect();
    let good = |name: &&str| {
        let fixed = wrong.contains(*name) && !faulty.contains(*name);
        (fixed || !complained.contains(*name)) && directory.join(name).exists()
    };
    names.into_iter().filter(good).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::Severity;

    fn finding(file: &str, severity: Severity) -> Finding {
        Finding {
            file: file.to_owned(),
            line: 1,
            column: 1,
            severity,
            kind: String::new(),
            name: String::new(),
            path: String::new(),
            rule: "yaml/x".to_owned(),
            message: "is wrong".to_owned(),
        }
    }

    #[test]
    fn a_file_is_good_again_without_its_errors_unless_it_is_gone() {
        use Severity::{Error, Warning};
        let directory = tempfile::tempdir().unwrap();
        for name in ["a.yaml", "b.yaml", "c.yaml", "d.yaml"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let of = |findings: &[(&str, Severity)]| -> Vec<Finding> {
            findings.iter().map(|(file, severity)| finding(file, *severity)).collect()
        };
        let before = of(&[
            ("a.yaml", Error),
            ("b.yaml", Error),
            ("c.yaml", Warning),
            ("d.yaml", Error),
            ("gone", Error),
        ]);
        let after = of(&[("b.yaml", Warning), ("d.yaml", Error)]);
        assert_eq!(repaired(&before, &after, directory.path()), ["a.yaml", "b.yaml", "c.yaml"]);
        assert!(repaired(&before, &before, directory.path()).is_empty());
    }
}
