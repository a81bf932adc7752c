//! Units of the resources -> units of the contract.
//!
//! Resources write durations as text and counts as signed integers, because a CRD schema wants it so; the contract
//! has milliseconds and unsigned integers. The schema has refused everything that does not fit; what still does not
//! (an object stored by another version) becomes the nearest value instead of an error in the middle of a compile.

use hedgerow_crds::units::DurationText;

/// Whole milliseconds, rounded down.
pub(super) fn millis(text: &DurationText) -> u64 {
    text.parse().map_or(0, |duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// A count or percentage.
pub(super) fn count(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

/// A count that is 64 bits wide in the resource and 32 in the contract.
pub(super) fn narrow(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}

/// An amount of tokens, bytes or money.
pub(super) fn amount(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Texts of any bounded type.
pub(super) fn texts<T: AsRef<str>>(items: &[T]) -> Vec<String> {
    items.iter().map(|item| item.as_ref().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_schema_would_admit_becomes_the_nearest_value() {
        assert_eq!(millis(&"1500ms".into()), 1_500);
        assert_eq!(millis(&"soon".into()), 0);
        assert_eq!((count(-1), count(7)), (0, 7));
        assert_eq!((narrow(-1), narrow(1 << 40)), (0, u32::MAX));
        assert_eq!((amount(-5), amount(5)), (0, 5));
    }
}
