//! What people write: `hedgerow lint` reads any bytes, ends, and every finding is at a place in the file.

#![no_main]

use hedgerow::lint::{Source, check};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let findings = match Source::from_bytes("file.yaml", bytes.to_vec()) {
        Ok(source) => check(&[source], None),
        Err(finding) => vec![*finding],
    };
    // An end of line is `\n`, `\r\n` or `\r`; a problem with the end of the text is on the line after the last.
    let lines = bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() + 2;
    for finding in findings {
        assert!((1..=lines).contains(&(finding.line as usize)) && finding.column >= 1, "{finding:?}");
        assert!(finding.rule.contains('/') && !finding.message.is_empty(), "{finding:?}");
    }
});
