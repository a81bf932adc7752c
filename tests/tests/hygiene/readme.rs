//! The README's commands exist, and its two commands stand at the top.

use crate::tree;

#[test]
fn the_readme_opens_with_both_commands() {
    let readme = tree::text("README.md");
    let top: String = readme.lines().take(40).collect::<Vec<_>>().join("\n");
    for command in ["cargo run --release --bin hedgerow -- demo", "tests/run"] {
        assert!(top.contains(command), "{command} is not in the first 40 lines of README.md");
    }
}

#[test]
fn every_path_that_the_documents_link_to_exists() {
    for document in ["README.md", "ARCHITECTURE.md"] {
        for target in tree::text(document).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or_default();
            if path.is_empty() || path.contains("://") {
                continue;
            }
            assert!(tree::root().join(path).exists(), "{document} links to {path}, which does not exist");
        }
    }
}
