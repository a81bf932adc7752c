//! Reads one file of the contract.
//!
//! Inputs: a path. Outputs: its bytes, decompressed where the operator had to compress them (`gateway.json` above
//! 256 KiB), within a bound. Invariant: the digest is that of the bytes before compression, so it does not depend on who
//! compressed.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use flate2::read::GzDecoder;
use hedgerow_config::{
    GatewayConfig,
    digest::digest,
    gateway::{MAX_BYTES, ReadError},
};

/// Largest `gateway.json` in bytes, decompressed.
pub const MAX_GATEWAY: u64 = MAX_BYTES as u64;
/// Largest `fleet.json` in bytes: four times what the operator writes at most.
pub const MAX_FLEET: u64 = 256 * 1024;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Not readable.
    #[error("cannot read {file}: {cause}")]
    Io {
        /// File name.
        file: &'static str,
        /// Cause.
        cause: io::Error,
    },
    /// Larger than anything the operator writes.
    #[error("{file} is larger than {limit} bytes")]
    TooLarge {
        /// File name.
        file: &'static str,
        /// Bound in bytes.
        limit: u64,
    },
    /// Not of the contract.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The bytes of a file of at most `limit` bytes; `None` if there is no such file.
///
/// # Errors
/// Not readable or too large.
pub fn bytes(path: &Path, file: &'static str, limit: u64) -> Result<Option<Vec<u8>>, LoadError> {
    match File::open(path) {
        Ok(open) => bounded(open, file, limit).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(LoadError::Io { file, cause }),
    }
}

/// A configuration and its digest.
///
/// # Errors
/// Not the gateway's schema, or not of its shape.
pub fn gateway(written: &[u8]) -> (String, Result<GatewayConfig, LoadError>) {
    let file = hedgerow_config::gateway::FILE;
    if written.starts_with(&GZIP_MAGIC) {
        match bounded(GzDecoder::new(written), file, MAX_GATEWAY) {
            Ok(plain) => (digest(&plain), GatewayConfig::read(&plain).map_err(LoadError::from)),
            Err(error) => (digest(written), Err(error)),
        }
    } else {
        (digest(written), GatewayConfig::read(written).map_err(LoadError::from))
    }
}

fn bounded(source: impl Read, file: &'static str, limit: u64) -> Result<Vec<u8>, LoadError> {
    let mut bytes = Vec::new();
    let read = source.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|cause| LoadError::Io { file, cause })?;
    if bytes.len() as u64 > limit { Err(LoadError::TooLarge { file, limit }) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write as _;

    const MINIMAL: &[u8] =
        br#"{"schema":"hedgerow.dev/gateway/v1","fleet":{"namespace":"a","name":"default"}}"#;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn compression_changes_neither_content_nor_digest() {
        let (plain, packed) = (gateway(MINIMAL), gateway(&gzip(MINIMAL)));
        assert_eq!(plain.0, packed.0);
        assert_eq!(plain.1.unwrap(), packed.1.unwrap());
    }

    #[test]
    fn a_bomb_is_refused_at_the_limit() {
        let (_, read) = gateway(&gzip(&vec![b' '; MAX_GATEWAY as usize + 1]));
        assert!(matches!(read, Err(LoadError::TooLarge { .. })), "{read:?}");
    }

    #[test]
    fn cut_files_and_other_schemas_are_refused() {
        for bad in [&MINIMAL[..20], b"", b"{}", br#"{"schema":"hedgerow.dev/gateway/v2"}"#] {
            assert!(gateway(bad).1.is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }
}
