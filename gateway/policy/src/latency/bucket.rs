//! Log-linear buckets: 16 equal steps in each octave from 8 ms to 300 s.
//!
//! A bucket is at most 1/16 of its lower bound wide, so a quantile is exact to 6.25 % at worst and about 3 %
//! with interpolation. Everything below 8 ms is bucket 0; everything from 311.3 s on is the last bucket, which
//! has no upper bound. Index arithmetic is integer: a leading-zero count, a shift and an add.

use std::time::Duration;

use crate::time::nanos;

/// Steps per octave.
const STEPS: u64 = 16;
/// Width of a bucket in the first octave: 8 ms / 16.
const UNIT_NANOS: u64 = 500_000;
/// 15 full octaves (8 ms to 262.144 s) and three steps of the next, up to 311.296 s.
const LAST: u16 = 1 + 15 * 16 + 3;

/// Number of buckets, the one below 8 ms and the open one at the end included.
pub const BUCKETS: usize = LAST as usize + 1;

/// The bucket a duration falls into, `0..BUCKETS`.
pub fn bucket_of(duration: Duration) -> u16 {
    let units = nanos(duration) / UNIT_NANOS;
    if units < STEPS {
        return 0;
    }
    let octave = units.ilog2() - STEPS.ilog2();
    let step = (units >> octave) - STEPS;
    let index = 1 + u64::from(octave) * STEPS + step;
    u16::try_from(index).map_or(LAST, |index| index.min(LAST))
}

/// The smallest duration of a bucket. Indices beyond the last are treated as the last.
pub fn lower_bound(bucket: u16) -> Duration {
    if bucket == 0 {
        return Duration::ZERO;
    }
    let index = u64::from(bucket.min(LAST)) - 1;
    let (octave, step) = (index / STEPS, index % STEPS);
    Duration::from_nanos(((STEPS + step) << octave) * UNIT_NANOS)
}

/// The first duration beyond a bucket; [`Duration::MAX`] for the last, which is open.
pub fn upper_bound(bucket: u16) -> Duration {
    if bucket >= LAST { Duration::MAX } else { lower_bound(bucket + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_and_index_agree_for_every_bucket() {
        for bucket in 0..BUCKETS as u16 {
            assert_eq!(bucket_of(lower_bound(bucket)), bucket);
            if bucket < LAST {
                assert_eq!(
                    bucket_of(upper_bound(bucket).checked_sub(Duration::from_nanos(1)).unwrap()),
                    bucket
                );
                assert_eq!(upper_bound(bucket), lower_bound(bucket + 1));
            }
        }
    }

    #[test]
    fn the_range_is_8_ms_to_300_s_with_open_ends() {
        assert_eq!(bucket_of(Duration::from_micros(7_999)), 0);
        assert_eq!(bucket_of(Duration::from_millis(8)), 1);
        assert!(bucket_of(Duration::from_mins(5)) < LAST);
        assert_eq!(bucket_of(Duration::from_secs(312)), LAST);
        assert_eq!(bucket_of(Duration::MAX), LAST);
    }

    #[test]
    fn no_bucket_is_wider_than_a_sixteenth_of_its_lower_bound() {
        for bucket in 1..LAST {
            let low = lower_bound(bucket);
            assert!(upper_bound(bucket).checked_sub(low).unwrap() * 16 <= low + Duration::from_nanos(1));
        }
    }
}
