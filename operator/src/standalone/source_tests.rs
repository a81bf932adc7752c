//! Directories on disk: good files, broken files, files that are still being written.

use super::*;

const LANE: &str = "apiVersion: hedgerow.dev/v1alpha1\nkind: PriorityLane\nmetadata:\n  name: NAME\nspec:\n  match:\n    headers:\n      x-lane: NAME\n  priority: 10\n";

struct Bench {
    directory: tempfile::TempDir,
    source: Directory,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let source = Directory::new(directory.path().to_owned());
        Self { directory, source }
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.directory.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Two looks: the change and its confirmation.
    fn changed(&mut self) -> Changed {
        assert!(matches!(self.source.poll().unwrap(), Reading::Changing));
        match self.source.poll().unwrap() {
            Reading::Changed(changed) => changed,
            other => panic!("{other:?}"),
        }
    }
}

fn lane(name: &str) -> String {
    LANE.replace("NAME", name)
}

fn names(changed: &Changed) -> Vec<&str> {
    let mut names: Vec<&str> = changed.objects.iter().map(Resource::name).collect();
    names.sort_unstable();
    names
}

fn errors(changed: &Changed) -> Vec<&Finding> {
    changed.findings.iter().filter(|finding| finding.is_error()).collect()
}

#[test]
fn a_broken_file_is_reported_with_its_line_and_keeps_what_it_last_gave() {
    let mut bench = Bench::new();
    bench.write("a.yaml", &lane("a"));
    bench.write("deep/b.yml", &lane("b"));
    let first = bench.source.read().unwrap();
    assert_eq!(names(&first), ["a", "b"]);

    bench.write("a.yaml", &lane("a").replace("priority: 10", "priority: 10\n  priorty: 20"));
    let broken = bench.changed();
    assert_eq!(names(&broken), ["a", "b"], "the last good objects of the file stay");
    let error = errors(&broken)[0];
    assert_eq!((error.file.as_str(), error.line), ("a.yaml", 10));
    assert!(error.rule.starts_with("schema/"), "{}", error.rule);
    let note = &broken.stale[&(Kind::PriorityLane, "a".to_owned())];
    assert!(note.contains("in force as it was before") && note.contains("a.yaml:10"), "{note}");
    assert_eq!(broken.stale.len(), 1, "the other file is as it should be");

    bench.write("a.yaml", &lane("c"));
    let mended = bench.changed();
    assert_eq!(names(&mended), ["b", "c"]);
    assert!(errors(&mended).is_empty() && mended.stale.is_empty());
}

#[test]
fn a_file_that_was_never_good_gives_the_documents_that_are() {
    let mut bench = Bench::new();
    bench.write("a.yaml", &format!("{}---\n{}", lane("a"), lane("b").replace("10", "-5")));
    let first = bench.source.read().unwrap();
    assert_eq!(names(&first), ["a"]);
    assert_eq!(errors(&first).len(), 1);
    assert!(first.stale.is_empty(), "what is in force is what the file says now");
}

#[test]
fn hidden_names_secrets_and_other_files_are_not_read() {
    let mut bench = Bench::new();
    bench.write("a.yaml", &lane("a"));
    for hidden in [".b.yaml", ".status/c.yaml", "secrets/d.yaml", "e.yaml~", "f.txt"] {
        bench.write(hidden, "not: [yaml");
    }
    let first = bench.source.read().unwrap();
    assert_eq!(names(&first), ["a"]);
    assert!(errors(&first).is_empty(), "{:?}", first.findings);
}

#[test]
fn half_a_file_is_not_a_change_until_it_rests() {
    let mut bench = Bench::new();
    bench.write("a.yaml", &lane("a"));
    bench.source.read().unwrap();
    assert!(matches!(bench.source.poll().unwrap(), Reading::Same));
    bench.write("a.yaml", "");
    assert!(matches!(bench.source.poll().unwrap(), Reading::Changing));
    bench.write("a.yaml", &lane("b"));
    assert!(matches!(bench.source.poll().unwrap(), Reading::Changing), "it changed again");
    assert!(matches!(bench.source.poll().unwrap(), Reading::Changed(_)));
    assert!(matches!(bench.source.poll().unwrap(), Reading::Same));
}

#[test]
fn a_new_secret_is_a_change_and_a_directory_that_is_not_there_an_error() {
    let mut bench = Bench::new();
    bench.write("a.yaml", &lane("a"));
    bench.source.read().unwrap();
    bench.write("secrets/keys/openai", "sk-1");
    bench.changed();
    bench.write("secrets/keys/openai", "sk-2");
    assert!(matches!(bench.source.poll().unwrap(), Reading::Same), "values are the gateways' business");
    bench.write("secrets/keys/openai", "sk-1\nsk-2\n");
    bench.changed();
    let missing = Directory::new(bench.directory.path().join("nowhere")).read().unwrap_err();
    assert!(missing.to_string().contains("nowhere"), "{missing}");
}

#[test]
fn a_link_to_its_own_directory_is_named_and_stops_nothing() {
    let mut bench = Bench::new();
    bench.write("a.yaml", &lane("a"));
    bench.source.read().unwrap();
    std::os::unix::fs::symlink(".", bench.directory.path().join("itself")).unwrap();
    std::os::unix::fs::symlink("loop.yaml", bench.directory.path().join("loop.yaml")).unwrap();
    bench.write("b.yaml", &lane("b"));
    let changed = bench.changed();
    assert_eq!(names(&changed), ["a", "b"]);
    assert!(errors(&changed).is_empty(), "{:?}", changed.findings);
    assert!(changed.findings.iter().any(|finding| finding.file == "itself"), "{:?}", changed.findings);
}

#[test]
fn of_two_objects_of_the_same_name_the_first_is_in_force() {
    let mut bench = Bench::new();
    bench.write("a.yaml", &lane("a"));
    bench.write("b.yaml", &lane("a").replace("10", "20"));
    let first = bench.source.read().unwrap();
    assert_eq!(names(&first), ["a"]);
    assert_eq!(errors(&first)[0].file, "b.yaml");
}
