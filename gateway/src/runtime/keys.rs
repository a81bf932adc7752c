//! Client keys: who may ask, and as which tenant.
//!
//! Entries are files `<tenant>` or `<tenant>.<suffix>` below one secret, each a plain key or `sha256:<64 hex digits>`.
//! Only hashes are kept. Comparison looks at every entry and takes the same time whichever matches.

use hedgerow_config::settings::{ClientAuth, ClientAuthKind};
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use crate::config::credentials::Credentials;

/// All client keys in force.
#[derive(Default)]
pub struct ClientKeys {
    required: bool,
    entries: Vec<Entry>,
}

struct Entry {
    tenant: String,
    hash: [u8; 32],
}

impl ClientKeys {
    /// Reads the entries of the configured secret. Unreadable entries are left out, so a client with such a key is refused.
    pub fn read(auth: &ClientAuth, credentials: &Credentials) -> Self {
        if auth.kind == ClientAuthKind::None {
            return Self::default();
        }
        let files = auth.secret_name.as_deref().map_or_else(Vec::new, |name| credentials.entries(name));
        let entries = files
            .into_iter()
            .filter_map(|(file, secret)| {
                let tenant = file.split('.').next().filter(|tenant| !tenant.is_empty())?.to_owned();
                Some(Entry { tenant, hash: stored_hash(secret.bytes())? })
            })
            .collect();
        Self { required: true, entries }
    }

    /// Whether clients need a key at all.
    pub fn required(&self) -> bool {
        self.required
    }

    /// The tenant of a presented key.
    pub fn tenant(&self, presented: &[u8]) -> Option<&str> {
        let hash: [u8; 32] = Sha256::digest(presented).into();
        let mut found = 0_u32;
        for (place, entry) in (1_u32..).zip(&self.entries) {
            let equal: Choice = entry.hash.ct_eq(&hash);
            found.conditional_assign(&place, equal);
        }
        let place = usize::try_from(found).ok()?.checked_sub(1)?;
        self.entries.get(place).map(|entry| entry.tenant.as_str())
    }
}

fn stored_hash(value: &[u8]) -> Option<[u8; 32]> {
    let value = value.trim_ascii();
    let Some(hex) = value.strip_prefix(b"sha256:") else {
        return (!value.is_empty()).then(|| Sha256::digest(value).into());
    };
    let hex = std::str::from_utf8(hex).ok().filter(|hex| hex.len() == 64 && hex.is_ascii())?;
    let mut hash = [0; 32];
    for (byte, at) in hash.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(entries: &[(&str, &[u8])]) -> ClientKeys {
        let entries = entries
            .iter()
            .map(|(tenant, value)| Entry { tenant: (*tenant).to_owned(), hash: stored_hash(value).unwrap() })
            .collect();
        ClientKeys { required: true, entries }
    }

    #[test]
    fn plain_and_hashed_entries_name_their_tenant_and_others_nobody() {
        let hashed = b"sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        let keys = keys(&[("team-a", b"sk-one\n"), ("team-b", hashed)]);
        assert_eq!(keys.tenant(b"sk-one"), Some("team-a"));
        assert_eq!(keys.tenant(b"secret"), Some("team-b"));
        assert_eq!(keys.tenant(b"sk-two"), None);
        assert_eq!(keys.tenant(b""), None);
    }

    #[test]
    fn a_broken_hash_is_no_key() {
        for value in [&b"sha256:12"[..], b"sha256:zz", b"", b" \n"] {
            assert!(stored_hash(value).is_none(), "{value:?}");
        }
    }
}
