//! Credentials, from mounted files only.
//!
//! Inputs: a directory of `<secret>/<key>` files. Outputs: values by secret and key, ready-made header values, and for
//! `/state` whether a value is there, since when, and a fingerprint. Invariants: trailing newlines are not part of a
//! value; no value is ever shown (`Debug` is redacted, header values are marked sensitive); files and directories that
//! start with a dot are not credentials (Kubernetes keeps its versions there).
//!
//! The fingerprint is SipHash-1-3 over the value, keyed by where it is mounted, shortened to 32 bits: equal on every pod
//! that holds the same value, and too short to test guesses of a random key against.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    hash::Hasher as _,
    io::Read as _,
    path::Path,
    sync::Arc,
};

use arc_swap::ArcSwap;
use hedgerow_config::{GatewayConfig, route::SecretKey, state::CredentialState};
use http::HeaderValue;
use sha2::{Digest as _, Sha256};
use siphasher::sip::SipHasher13;

/// Largest value in bytes: a `Secret` holds 1 MiB in all.
const MAX_VALUE: u64 = 1024 * 1024;
/// Most values that are read.
const MAX_VALUES: usize = 20_000;

/// One credential.
pub struct Secret {
    value: Box<[u8]>,
    fingerprint: String,
    since_unix_ms: u64,
}

impl Secret {
    fn new(place: &SecretKey, value: &[u8], since_unix_ms: u64) -> Self {
        Self { value: value.into(), fingerprint: fingerprint(place, value), since_unix_ms }
    }

    /// The value without trailing newlines.
    pub fn bytes(&self) -> &[u8] {
        &self.value
    }

    /// The value as a header value that is never logged; `None` if it cannot be one.
    pub fn header_value(&self) -> Option<HeaderValue> {
        sensitive(&self.value)
    }

    /// `Bearer <value>`; `None` if it cannot be a header value.
    pub fn bearer(&self) -> Option<HeaderValue> {
        sensitive(&[b"Bearer ", &*self.value].concat())
    }

    /// Eight hex digits, equal wherever the same value is mounted under the same name.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Secret({})", self.fingerprint)
    }
}

fn sensitive(bytes: &[u8]) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_bytes(bytes).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn fingerprint(place: &SecretKey, value: &[u8]) -> String {
    let digest = Sha256::digest(format!("hedgerow.dev/credential/{}/{}", place.name, place.key));
    let mut key = [0; 16];
    key.copy_from_slice(&digest[..16]);
    let mut hasher = SipHasher13::new_with_key(&key);
    hasher.write(value);
    format!("{:08x}", hasher.finish() as u32)
}

type Values = BTreeMap<SecretKey, Arc<Secret>>;

/// All credentials, replaced as a whole when a file changes.
#[derive(Debug, Default)]
pub struct Credentials {
    values: ArcSwap<Values>,
    /// Named by the configuration in force, there or not.
    named: ArcSwap<BTreeSet<SecretKey>>,
}

impl Credentials {
    /// One value; `None` if it is not mounted or empty.
    pub fn get(&self, place: &SecretKey) -> Option<Arc<Secret>> {
        self.values.load().get(place).cloned()
    }

    /// All values of one Secret by key, for client keys.
    pub fn entries(&self, secret: &str) -> Vec<(String, Arc<Secret>)> {
        let values = self.values.load();
        values.iter().filter(|(at, _)| at.name == secret).map(|(at, v)| (at.key.clone(), v.clone())).collect()
    }

    /// Every credential that the configuration names, and whether it is there.
    pub fn states(&self) -> Vec<CredentialState> {
        let values = self.values.load();
        let named = self.named.load();
        named.iter().map(|place| state(place, values.get(place).map(Arc::as_ref))).collect()
    }

    /// Remembers what a configuration names.
    pub(super) fn expect(&self, config: &GatewayConfig) {
        let keys = config.routes.iter().flat_map(|r| [r.auth.secret.clone(), r.tls.ca.clone()]);
        self.named.store(Arc::new(keys.flatten().collect()));
    }

    /// Reads the directory; `true` if a value changed. A value that did not change keeps its age.
    pub(super) fn refresh(&self, directory: &Path, unix_ms: u64) -> bool {
        let mut found = read(directory);
        let old = self.values.load();
        let same = found.len() == old.len()
            && found.iter().all(|(at, v)| old.get(at).is_some_and(|o| *o.value == **v));
        if same {
            return false;
        }
        let mut values = Values::new();
        while let Some((place, value)) = found.pop_first() {
            let kept = old.get(&place).filter(|secret| *secret.value == *value).cloned();
            let secret = kept.unwrap_or_else(|| Arc::new(Secret::new(&place, &value, unix_ms)));
            values.insert(place, secret);
        }
        self.values.store(Arc::new(values));
        true
    }
}

fn state(place: &SecretKey, secret: Option<&Secret>) -> CredentialState {
    CredentialState {
        secret: place.name.clone(),
        key: place.key.clone(),
        present: secret.is_some(),
        fingerprint: secret.map(|s| s.fingerprint.clone()).unwrap_or_default(),
        since_unix_ms: secret.map_or(0, |s| s.since_unix_ms),
    }
}

/// Values that are there and not empty. Files that cannot be read are as good as absent.
fn read(directory: &Path) -> BTreeMap<SecretKey, Vec<u8>> {
    let mut found = BTreeMap::new();
    for (name, path) in visible(directory) {
        for (key, path) in visible(&path) {
            if found.len() >= MAX_VALUES {
                tracing::warn!(limit = MAX_VALUES, "too many credentials: the rest is not read");
                return found;
            }
            if let Some(value) = value(&path) {
                found.insert(SecretKey { name: name.clone(), key }, value);
            }
        }
    }
    found
}

fn value(path: &Path) -> Option<Vec<u8>> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut value = Vec::new();
    fs::File::open(path).ok()?.take(MAX_VALUE).read_to_end(&mut value).ok()?;
    while value.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        value.pop();
    }
    (!value.is_empty()).then_some(value)
}

fn visible(directory: &Path) -> impl Iterator<Item = (String, std::path::PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        (!name.starts_with('.')).then(|| (name, entry.path()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str, key: &str) -> SecretKey {
        SecretKey { name: name.to_owned(), key: key.to_owned() }
    }

    #[test]
    fn values_are_trimmed_redacted_and_keep_their_age_until_they_change() {
        let directory = tempfile::tempdir().unwrap();
        let secret = directory.path().join("openai");
        fs::create_dir(&secret).unwrap();
        fs::write(secret.join("key"), "sk-very-secret\r\n\n").unwrap();
        fs::write(secret.join("empty"), "\n").unwrap();
        fs::write(secret.join("..data"), "not a credential").unwrap();

        let credentials = Credentials::default();
        assert!(credentials.refresh(directory.path(), 7));
        assert!(!credentials.refresh(directory.path(), 8));
        let first = credentials.get(&place("openai", "key")).unwrap();
        assert_eq!(first.bytes(), b"sk-very-secret");
        assert_eq!(first.bearer().unwrap(), "Bearer sk-very-secret");
        assert!(first.bearer().unwrap().is_sensitive());
        assert!(!format!("{credentials:?}").contains("very"), "{credentials:?}");
        assert_eq!(credentials.entries("openai").len(), 1);

        fs::write(secret.join("other"), "x").unwrap();
        assert!(credentials.refresh(directory.path(), 9));
        assert_eq!(credentials.get(&place("openai", "key")).unwrap().since_unix_ms, 7);
        fs::write(secret.join("key"), "sk-rotated").unwrap();
        assert!(credentials.refresh(directory.path(), 10));
        let second = credentials.get(&place("openai", "key")).unwrap();
        assert_eq!((second.since_unix_ms, second.fingerprint().len()), (10, 8));
        assert_ne!(first.fingerprint(), second.fingerprint());
    }

    #[test]
    fn a_named_credential_that_is_not_mounted_is_reported_absent() {
        let credentials = Credentials::default();
        credentials.named.store(Arc::new([place("openai", "key")].into()));
        let states = credentials.states();
        assert_eq!(states.len(), 1);
        assert!(!states[0].present && states[0].fingerprint.is_empty());
    }
}
