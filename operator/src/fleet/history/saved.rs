//! A history as bytes: JSON of a version, packed, bounded.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde::{Deserialize, Serialize};

use super::{day::Day, quarters::Quarter};

/// Version of the form.
const SCHEMA: &str = "hedgerow.dev/history/v1";
/// Most bytes that are written, packed.
const MAX_PACKED: usize = 256 << 10;
/// Most bytes that are unpacked.
const MAX_BYTES: u64 = 32 << 20;

/// What another process goes on from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Saved {
    schema: String,
    pub(super) day: Day,
    /// By cohort, oldest first.
    pub(super) quarters: BTreeMap<String, Vec<Quarter>>,
}

/// A saved history that cannot be gone on from.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Not packed, or too much.
    #[error("the saved history cannot be unpacked ({0}); spend and baselines start anew")]
    Packed(#[from] std::io::Error),
    /// Not in the form.
    #[error("the saved history is not readable ({0}); spend and baselines start anew")]
    Form(#[from] serde_json::Error),
    /// Written by another version.
    #[error(
        "the saved history has the schema {0}, and {SCHEMA} is known here; spend and baselines start anew"
    )]
    Schema(String),
}

impl Saved {
    pub(super) fn new(day: Day, quarters: BTreeMap<String, Vec<Quarter>>) -> Self {
        Self { schema: SCHEMA.to_owned(), day, quarters }
    }

    /// Whether there is nothing to go on from.
    pub fn is_empty(&self) -> bool {
        self.day.is_empty() && self.quarters.is_empty()
    }

    /// The bytes to keep, at most 256 KiB: the oldest quarters are left out where all would be more. Equal histories give
    /// equal bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut kept = self.clone();
        loop {
            let bytes = packed(&serde_json::to_vec(&kept).unwrap_or_default());
            let longest = kept.quarters.values().map(Vec::len).max().unwrap_or(0);
            if bytes.len() <= MAX_PACKED || longest == 0 {
                return bytes;
            }
            for quarters in kept.quarters.values_mut() {
                quarters.drain(..quarters.len().saturating_sub(longest / 2));
            }
        }
    }

    /// Reads what [`Saved::write`] made.
    ///
    /// # Errors
    /// Not packed, not the form, or of another version.
    pub fn read(bytes: &[u8]) -> Result<Self, HistoryError> {
        let mut json = Vec::new();
        GzDecoder::new(bytes).take(MAX_BYTES).read_to_end(&mut json)?;
        let saved: Self = serde_json::from_slice(&json)?;
        if saved.schema == SCHEMA { Ok(saved) } else { Err(HistoryError::Schema(saved.schema)) }
    }
}

/// Memory takes every write.
fn packed(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).and_then(|()| encoder.finish()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use hedgerow_policy::time::Moment;

    use super::*;
    use crate::{domain::guardrail::fixture, fleet::history::History, scrape::Cumulative};

    fn history(quarters: u64, cohorts: u64) -> History {
        let (mut history, mut counted) = (History::default(), Cumulative::default());
        let pod = fixture::state("a", Vec::new());
        for quarter in 0..=quarters {
            for cohort in 0..cohorts {
                let total = &mut counted.cohorts.entry(format!("cohort-{cohort}")).or_default().total;
                // Counts that do not pack well.
                total.originals += (quarter * 7_919 + cohort * 104_729) % 1_000_003;
                total.cost.0 += u128::from((quarter * 15_485_863 + cohort * 32_452_843) % 982_451_653);
            }
            history.observe([&pod], &counted, Moment::from_secs(1_000_000_000 + quarter * 900));
        }
        history
    }

    #[test]
    fn what_is_written_is_read_again() {
        let saved = history(5, 2).save();
        assert!(!saved.is_empty());
        assert_eq!(Saved::read(&saved.write()).unwrap(), saved);
        assert!(History::default().save().is_empty());
    }

    #[test]
    fn the_oldest_quarters_give_way_to_the_limit() {
        let saved = history(96, 300).save();
        let bytes = saved.write();
        assert!(bytes.len() <= MAX_PACKED, "{}", bytes.len());
        let kept = Saved::read(&bytes).unwrap();
        let last = |saved: &Saved| saved.quarters["cohort-0"].last().cloned();
        assert_eq!(last(&kept), last(&saved));
        assert!(kept.quarters["cohort-0"].len() < saved.quarters["cohort-0"].len());
    }

    #[test]
    fn garbage_and_other_versions_are_told_apart_from_histories() {
        let of = |json: &str| Saved::read(&packed(json.as_bytes())).unwrap_err().to_string();
        assert!(of("{}").contains("not readable"));
        let future = serde_json::to_string(&Saved { schema: "v9".into(), ..history(1, 1).save() }).unwrap();
        assert!(of(&future).contains("v9"));
        assert!(Saved::read(b"no").unwrap_err().to_string().contains("unpacked"));
    }
}
