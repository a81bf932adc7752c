//! Documents of `docs/` that are written by hand down to a marker and made from the code below it.

use std::{fs, path::Path};

/// Holds a document to what is made from the code, which begins with the marker; `UPDATE_GOLDEN=1` rewrites it. Returns the
/// part that is written by hand. `test` is the target that rewrites it.
pub fn is_current(name: &str, marker: &str, made: &str, test: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    let found = fs::read_to_string(&path).unwrap();
    let (by_hand, _) = found.split_once(marker).unwrap();
    let expected = format!("{by_hand}{marker}{made}");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let now = fs::read_to_string(&path).unwrap();
    assert!(
        now == expected,
        "docs/{name} is stale: run UPDATE_GOLDEN=1 cargo test -p hedgerow-gateway --test {test}"
    );
    by_hand.to_owned()
}
