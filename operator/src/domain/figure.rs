//! How figures are written wherever people read them: status, messages, screens. Rounding happens here and nowhere else.

use std::{fmt::Write as _, time::Duration};

use hedgerow_policy::{guardrail::Ratio, time::Moment};
use jiff::Timestamp;

/// A share in 1/1000 as percent: `6.9 %`, `6 %`.
pub fn percent(per_mille: u32) -> String {
    format!("{} %", percent_bare(per_mille))
}

/// The same without the sign: `6.9`, `6`.
pub fn percent_bare(per_mille: u32) -> String {
    match (per_mille / 10, per_mille % 10) {
        (whole, 0) => whole.to_string(),
        (whole, tenth) => format!("{whole}.{tenth}"),
    }
}

/// A latency with two digits that matter: `0.61s`, `2.4s`, `118s`.
pub fn latency(value: Duration) -> String {
    let seconds = value.as_secs_f64();
    // Below the half where rounding would give one digit more.
    if seconds < 0.995 {
        format!("{seconds:.2}s")
    } else if seconds < 99.95 {
        format!("{seconds:.1}s")
    } else {
        format!("{seconds:.0}s")
    }
}

/// A length of time as users write it: `10s`, `5m`, `1h30m`, `250ms`.
pub fn span(value: Duration) -> String {
    if value < Duration::from_secs(1) {
        return format!("{}ms", value.as_millis());
    }
    let mut text = String::new();
    let mut seconds = value.as_secs();
    for (unit, length) in [("h", 3_600), ("m", 60), ("s", 1)] {
        if seconds >= length {
            let _ = write!(text, "{}{unit}", seconds / length);
            seconds %= length;
        }
    }
    text
}

/// A count with thousands apart: `1,312`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count or an amount as the resources hold it: at most 2^53, up to which every JSON reader is exact.
pub fn whole(value: impl TryInto<i64>) -> i64 {
    const MOST: i64 = 1 << 53;
    value.try_into().map_or(MOST, |value| value.clamp(-MOST, MOST))
}

/// What there is of something per 1000 of something else, to the nearest, at most 1,000,000; `None` of nothing.
pub fn per_mille(some: u128, of: u128) -> Option<i32> {
    bounded(Ratio::of(some, of))
}

/// The same of a part of a whole, at most 1000 ([`Ratio::share`] tells why there may be more).
pub fn share(part: u128, whole: u128) -> Option<i32> {
    bounded(Ratio::share(part, whole))
}

fn bounded(ratio: Ratio) -> Option<i32> {
    (ratio.den > 0).then(|| ratio.per_mille().min(1_000_000) as i32)
}

/// A moment of Unix time as a value of the resources.
pub fn timestamp(at: Moment) -> Timestamp {
    i64::try_from(at.as_millis())
        .ok()
        .and_then(|millis| Timestamp::from_millisecond(millis).ok())
        .unwrap_or(Timestamp::MAX)
}

/// A value of the resources as a moment of Unix time; times before 1970 are its start.
pub fn moment(at: Timestamp) -> Moment {
    Moment::from_millis(u64::try_from(at.as_millisecond()).unwrap_or(0))
}

/// The time of day: `03:12:40 UTC`.
pub fn clock(at: Moment) -> String {
    timestamp(at).strftime("%H:%M:%S UTC").to_string()
}

/// Time of day, with the date where it is not that of `now`: `2026-11-30 03:12:40 UTC`.
pub fn clock_from(at: Moment, now: Moment) -> String {
    const DAY: u64 = 86_400;
    if at.as_secs() / DAY == now.as_secs() / DAY {
        clock(at)
    } else {
        timestamp(at).strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_matter() {
        assert_eq!([69, 60, 5, 0, 1_000].map(percent), ["6.9 %", "6 %", "0.5 %", "0 %", "100 %"]);
        let latencies = [610, 994, 996, 2_449, 99_940, 118_300].map(Duration::from_millis).map(latency);
        assert_eq!(latencies, ["0.61s", "0.99s", "1.0s", "2.4s", "99.9s", "118s"]);
        let spans = [250, 10_000, 300_000, 5_400_000, 90_500].map(Duration::from_millis).map(span);
        assert_eq!(spans, ["250ms", "10s", "5m", "1h30m", "1m30s"]);
        assert_eq!([0, 999, 1_312, 1_204_331].map(count), ["0", "999", "1,312", "1,204,331"]);
    }

    #[test]
    fn numbers_stay_within_what_the_resources_allow() {
        assert_eq!([whole(7_u64), whole(u64::MAX), whole(i64::MIN)], [7, 1 << 53, -(1 << 53)]);
        assert_eq!(
            [per_mille(5, 2), per_mille(u128::MAX, 1), per_mille(1, 0)],
            [Some(2_500), Some(1_000_000), None]
        );
        assert_eq!([share(1, 3), share(5, 2), share(0, 0)], [Some(333), Some(1_000), None]);
    }

    #[test]
    fn a_moment_survives_the_way_through_a_resource() {
        let at = Moment::from_millis(1_795_921_960_123);
        assert_eq!(moment(timestamp(at)), at);
        assert_eq!(clock(at), "03:12:40 UTC");
        assert_eq!(clock_from(at, at + Duration::from_hours(24)), "2026-11-29 03:12:40 UTC");
        assert_eq!(
            moment(timestamp(Moment::MAX)).as_millis(),
            Moment::MAX.as_millis(),
            "never is a time, too"
        );
    }
}
