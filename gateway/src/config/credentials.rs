//! Credentials, from mounted files only.
//!
//! Inputs: a directory of `<secret>/<key>` files. Outputs: values by secret and key, ready-made header values, and for
//! `/state` whether a value is there, since when, a fingerprint, and what is missing where it is not: nobody else may look
//! into a Secret, so only the pod that mounts it can tell a wrong key from a missing Secret. Invariants: trailing newlines are not part of a
//! value; no value is ever shown (`Debug` is redacted, header values are marked sensitive); files and directories that
//! start with a dot are not credentials (Kubernetes keeps its versions there); a directory that cannot be read takes no
//! value away, a file that is gone does.
//!
//! The fingerprint is SipHash-1-3 over the value, keyed by where it is mounted, shortened to 32 bits: equal on every pod
//! that holds the same value, and too short to test guesses of a random key against.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    hash::Hasher as _,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::ArcSwap;
use hedgerow_config::{GatewayConfig, route::SecretKey, state::CredentialState};
use http::HeaderValue;
use sha2::{Digest as _, Sha256};
use siphasher::sip::SipHasher13;

use super::authorities;

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
    pub(super) fn new(place: &SecretKey, value: &[u8], since_unix_ms: u64) -> Self {
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

    /// Whether it can be sent: one line of bytes that a header value may have.
    pub fn is_sendable(&self) -> bool {
        HeaderValue::from_bytes(&self.value).is_ok()
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
/// Keys that are mounted, with or without a value.
type Mounted = BTreeSet<SecretKey>;
/// Named credentials, and whether they are sent in a header; the others are authorities, which have many lines.
type Named = BTreeMap<SecretKey, bool>;

/// All credentials, replaced as a whole when a file changes.
#[derive(Debug, Default)]
pub struct Credentials {
    values: ArcSwap<Values>,
    mounted: ArcSwap<Mounted>,
    /// Named by the configuration in force, there or not.
    named: ArcSwap<Named>,
    /// Whether a directory could not be read at the last look; said once.
    unreadable: AtomicBool,
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

    /// Every credential that the configuration names, and whether it is there and can be used for what it is named for.
    pub fn states(&self) -> Vec<CredentialState> {
        let values = self.values.load();
        let (named, mounted) = (self.named.load(), self.mounted.load());
        let secrets: BTreeSet<&str> = mounted.iter().map(|place| place.name.as_str()).collect();
        let state = |(place, sent): (&SecretKey, &bool)| CredentialState {
            secret_found: secrets.contains(place.name.as_str()),
            key_found: mounted.contains(place),
            ..state(place, *sent, values.get(place).map(Arc::as_ref))
        };
        named.iter().map(state).collect()
    }

    /// Remembers what a configuration names. The pair of the traffic port has a report of its own.
    pub(super) fn expect(&self, config: &GatewayConfig) {
        let authorities = config.routes.iter().filter_map(|route| route.tls.ca.clone());
        let authorities = authorities.chain(config.settings.egress.ca.clone()).map(|place| (place, false));
        let sent = config.routes.iter().filter_map(|route| Some((route.auth.secret.clone()?, true)));
        self.named.store(Arc::new(authorities.chain(sent).collect()));
    }

    /// Reads the directory; `true` if a value changed. A value that did not change keeps its age.
    pub(super) fn refresh(&self, directory: &Path, unix_ms: u64) -> bool {
        let old = self.values.load();
        let Read { mut found, mounted, failure } = read(directory, &old);
        self.mounted.store(Arc::new(mounted));
        let known = self.unreadable.swap(failure.is_some(), Ordering::Relaxed);
        if let Some((path, cause)) = failure.filter(|_| !known && !old.is_empty()) {
            tracing::warn!(path = %path.display(), %cause, "cannot read credentials: the last values stay");
        }
        if known && !self.unreadable.load(Ordering::Relaxed) {
            tracing::info!(path = %directory.display(), "credentials are readable again");
        }
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

/// A value that is there and cannot be used is not present, and has a fingerprint all the same.
fn state(place: &SecretKey, sent: bool, secret: Option<&Secret>) -> CredentialState {
    CredentialState {
        secret: place.name.clone(),
        key: place.key.clone(),
        present: secret.is_some_and(|secret| {
            if sent { secret.is_sendable() } else { authorities::read(secret.bytes()).is_ok() }
        }),
        secret_found: secret.is_some(),
        key_found: secret.is_some(),
        fingerprint: secret.map(|s| s.fingerprint.clone()).unwrap_or_default(),
        since_unix_ms: secret.map_or(0, |s| s.since_unix_ms),
    }
}

type Found = BTreeMap<SecretKey, Vec<u8>>;

/// What a look at the directory gave.
#[derive(Default)]
struct Read {
    /// Values that are not empty.
    found: Found,
    mounted: Mounted,
    /// Which directory could not be read: its values are the old ones.
    failure: Option<(PathBuf, io::Error)>,
}

impl Read {
    /// What was there before stays there.
    fn keep(&mut self, old: &Values, of: impl Fn(&SecretKey) -> bool) {
        let kept = old.iter().filter(|(place, _)| of(place));
        self.found.extend(kept.map(|(place, secret)| (place.clone(), secret.value.to_vec())));
        self.mounted.extend(old.keys().filter(|place| of(place)).cloned());
    }
}

/// Looks at the directory. Files that cannot be read are as good as empty; the directory of one Secret that is gone is as
/// good as one without keys.
fn read(directory: &Path, old: &Values) -> Read {
    let mut read = Read::default();
    let secrets = match visible(directory) {
        Ok(secrets) => secrets,
        Err(cause) => {
            read.keep(old, |_| true);
            read.failure = Some((directory.to_owned(), cause));
            return read;
        }
    };
    for (name, path) in secrets {
        let keys = match of_one_version(&path) {
            Ok(keys) => keys,
            Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                continue;
            }
            Err(cause) => {
                read.keep(old, |place| place.name == name);
                read.failure = Some((path, cause));
                continue;
            }
        };
        for (key, value) in keys {
            if read.mounted.len() >= MAX_VALUES {
                tracing::warn!(limit = MAX_VALUES, "too many credentials: the rest is not read");
                return read;
            }
            let place = SecretKey { name: name.clone(), key };
            if let Some(value) = value {
                read.found.insert(place.clone(), value);
            }
            read.mounted.insert(place);
        }
    }
    read
}

/// The values of one Secret, all of the same version: the kubelet swaps the link `..data` while we read, and a certificate
/// of one version with the key of another would be a broken pair that nobody wrote.
fn of_one_version(directory: &Path) -> io::Result<Vec<(String, Option<Vec<u8>>)>> {
    let link = directory.join("..data");
    let mut version = fs::read_link(&link).ok();
    loop {
        let values: Vec<_> = visible(directory)?.map(|(key, path)| (key, value(&path))).collect();
        let now = fs::read_link(&link).ok();
        if now == version {
            return Ok(values);
        }
        version = now;
    }
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

fn visible(directory: &Path) -> io::Result<impl Iterator<Item = (String, PathBuf)> + use<>> {
    Ok(fs::read_dir(directory)?.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        (!name.starts_with('.')).then(|| (name, entry.path()))
    }))
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
        credentials.named.store(Arc::new([(place("openai", "key"), true)].into()));
        let states = credentials.states();
        assert_eq!(states.len(), 1);
        assert!(!states[0].present && states[0].fingerprint.is_empty());
    }

    #[test]
    fn what_is_missing_is_told_apart_and_a_secret_without_keys_is_none() {
        let directory = tempfile::tempdir().unwrap();
        for secret in ["here", "bare"] {
            fs::create_dir(directory.path().join(secret)).unwrap();
        }
        fs::write(directory.path().join("here/other"), "sk").unwrap();
        fs::write(directory.path().join("here/empty"), "\n").unwrap();
        let credentials = Credentials::default();
        let named = [("away", "k"), ("bare", "k"), ("here", "empty"), ("here", "k"), ("here", "other")];
        credentials.named.store(Arc::new(named.map(|(name, key)| (place(name, key), true)).into()));
        credentials.refresh(directory.path(), 1);
        let found: Vec<_> = credentials
            .states()
            .iter()
            .map(|state| (state.secret_found, state.key_found, state.present))
            .collect();
        let (secret, key) = ((true, false, false), (true, true, false));
        assert_eq!(found, [(false, false, false), (false, false, false), key, secret, (true, true, true)]);
    }

    #[test]
    fn a_certificate_is_an_authority_and_no_key_and_a_key_is_no_authority() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("s")).unwrap();
        let certificate = rcgen::generate_simple_self_signed(Vec::new()).unwrap().cert.pem();
        for (key, value) in [("key", certificate.as_str()), ("ca", &certificate), ("text", "sk-1")] {
            fs::write(directory.path().join("s").join(key), value).unwrap();
        }
        let credentials = Credentials::default();
        let named = [(place("s", "key"), true), (place("s", "ca"), false), (place("s", "text"), false)];
        credentials.named.store(Arc::new(named.into()));
        credentials.refresh(directory.path(), 7);
        let states = credentials.states();
        let present: Vec<_> = states.iter().map(|state| (state.key.as_str(), state.present)).collect();
        assert_eq!(present, [("ca", true), ("key", false), ("text", false)]);
        assert!(states.iter().all(|state| state.fingerprint.len() == 8), "it is there: {states:?}");
    }

    #[test]
    fn a_directory_that_cannot_be_read_takes_no_value_away_and_a_file_that_is_gone_does() {
        let directory = tempfile::tempdir().unwrap();
        let (root, moved) = (directory.path().join("secrets"), directory.path().join("moved"));
        for name in ["a", "b"] {
            fs::create_dir_all(root.join(name)).unwrap();
            fs::write(root.join(name).join("key"), name).unwrap();
        }
        let credentials = Credentials::default();
        assert!(credentials.refresh(&root, 1));
        fs::rename(&root, &moved).unwrap();
        assert!(!credentials.refresh(&root, 2), "all of it is away for a moment");
        assert!(credentials.get(&place("a", "key")).is_some());
        fs::rename(&moved, &root).unwrap();

        fs::remove_file(root.join("a/key")).unwrap();
        fs::remove_dir_all(root.join("b")).unwrap();
        std::os::unix::fs::symlink("b", root.join("b")).unwrap();
        assert!(credentials.refresh(&root, 3));
        assert!(credentials.get(&place("a", "key")).is_none());
        assert_eq!(credentials.get(&place("b", "key")).unwrap().bytes(), b"b", "a loop cannot be read");
    }
}
