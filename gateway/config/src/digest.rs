//! The digest of a configuration: what pods report and the operator waits for.
//!
//! SHA-256 over the bytes of `gateway.json` as written (before compression), in lower-case hex. Columns show the first
//! [`SHORT`] characters.

use sha2::{Digest as _, Sha256};

/// Characters of a digest that people see.
pub const SHORT: usize = 8;

/// Lower-case hex SHA-256 of `bytes`, 64 characters.
pub fn digest(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The part of a digest that people see.
pub fn short(digest: &str) -> &str {
    digest.get(..SHORT).unwrap_or(digest)
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_sha256_in_hex() {
        let digest = super::digest(b"abc");
        assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(super::short(&digest), "ba7816bf");
    }
}
