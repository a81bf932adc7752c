//! Golden files: `testdata/<tool>/<case>.in.yaml` and what the tool makes of it. `UPDATE_GOLDEN=1` rewrites the outputs;
//! read the difference before you commit it.

use std::{fs, path::PathBuf};

use hedgerow::{
    domain::Objects,
    lint::{self, Secrets, Source, report},
    render::{self, Part, Presumed},
    runtime::settings::Settings,
};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The inputs of a tool: name of the case and text.
fn cases(tool: &str) -> Vec<(String, String)> {
    let directory = root().join("testdata").join(tool);
    let mut cases: Vec<_> = fs::read_dir(directory)
        .expect("testdata is in the tree")
        .filter_map(|entry| {
            let path = entry.expect("a readable entry").path();
            let case = path.file_name()?.to_str()?.strip_suffix(".in.yaml")?.to_owned();
            Some((case, fs::read_to_string(&path).expect("a readable case")))
        })
        .collect();
    cases.sort();
    assert!(!cases.is_empty());
    cases
}

/// Compares with the golden file, or rewrites it.
fn golden(tool: &str, file: &str, actual: &str) {
    let path = root().join("testdata").join(tool).join(file);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, actual).expect("a writable tree");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == actual, "{} differs; UPDATE_GOLDEN=1 rewrites it. Now:\n{actual}", path.display());
}

#[test]
fn lint_says_what_is_wrong_and_where() {
    for (case, text) in cases("lint") {
        let sources = [Source::new(format!("{case}.yaml"), text)];
        let objects = sources.iter().map(|source| lint::read(source).objects).sum();
        let secrets = case.starts_with("secret").then(|| {
            let mut secrets = Secrets::default();
            secrets.insert("hedgerow-default-keys", "present", true);
            secrets.insert("hedgerow-default-keys", "two-lines", false);
            secrets
        });
        let findings = lint::check(&sources, secrets.as_ref());
        golden("lint", &format!("{case}.out.txt"), &report::text(&findings, 1, objects));
    }
}

#[test]
fn compilation_applies_every_default_and_judges_every_object() {
    for (case, text) in cases("compile") {
        let file = lint::read(&Source::new(format!("{case}.yaml"), text));
        assert_eq!(file.findings, [], "{case}");
        let resources = lint::select(&[&file]);
        let (presumed, only) = (Presumed::default(), Some(Part::Config));
        let forward = resources.iter().cloned().collect::<Objects>();
        let rendered = render::text(&forward, &presumed, only).unwrap();
        golden("compile", &format!("{case}.out.yaml"), &rendered);
        let reversed = resources.into_iter().rev().collect::<Objects>();
        let reversed = render::text(&reversed, &presumed, only).unwrap();
        assert_eq!(rendered, reversed, "{case}: the order of files must not matter");
    }
}

/// What the installation of a case decides: `<case>.settings.yaml`, where there is one.
fn presumed(case: &str) -> Presumed {
    let path = root().join("testdata/render").join(format!("{case}.settings.yaml"));
    if !path.exists() {
        return Presumed::default();
    }
    let settings = Settings::read(&path).expect("a settings file");
    Presumed { installation: settings.installation, image: settings.image }
}

#[test]
fn children_are_what_the_fleet_and_the_installation_ask_for() {
    for (case, text) in cases("render") {
        let file = lint::read(&Source::new(format!("{case}.yaml"), text));
        assert_eq!(file.findings, [], "{case}");
        let presumed = presumed(&case);
        let resources = lint::select(&[&file]);
        let forward = resources.iter().cloned().collect::<Objects>();
        let rendered = render::text(&forward, &presumed, Some(Part::Children)).unwrap();
        golden("render", &format!("{case}.out.yaml"), &rendered);
        let reversed = resources.into_iter().rev().collect::<Objects>();
        let reversed = render::text(&reversed, &presumed, Some(Part::Children)).unwrap();
        assert_eq!(rendered, reversed, "{case}: the order of files must not matter");
    }
}

#[test]
fn the_examples_render_to_the_committed_text() {
    for paths in example_directories() {
        let name = match paths.as_slice() {
            [directory] => {
                directory.file_name().and_then(|name| name.to_str()).expect("a plain name").to_owned()
            }
            _ => "all".to_owned(),
        };
        let found = lint::files::find(&paths);
        let files: Vec<_> = found.sources.iter().map(lint::read).collect();
        let objects: Objects = lint::select(&files.iter().collect::<Vec<_>>()).into_iter().collect();
        let rendered = render::text(&objects, &Presumed::default(), None).unwrap();
        golden("examples", &format!("{name}.out.yaml"), &rendered);
    }
}

/// The directories of examples, each of which is applied as a whole. `gitops` holds objects of other programs.
fn example_directories() -> Vec<Vec<PathBuf>> {
    let examples = root().join("../crds/examples");
    let (directories, files): (Vec<_>, Vec<_>) = fs::read_dir(examples)
        .expect("examples are in the tree")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| !path.ends_with("gitops"))
        .partition(|path| path.is_dir());
    directories.into_iter().map(|directory| vec![directory]).chain([files]).collect()
}

#[test]
fn every_example_lints_clean() {
    for paths in example_directories() {
        let found = lint::files::find(&paths);
        assert!(!found.sources.is_empty(), "{paths:?}");
        assert_eq!(found.findings, []);
        assert_eq!(lint::check(&found.sources, None), []);
    }
}
