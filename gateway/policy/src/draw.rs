//! Decisions by chance that can be repeated.
//!
//! A user action's fate (enrolled or not, control group or hedge, audited or not) is a keyed hash of its id
//! and of the purpose, so that every component, every pod with the same key, and every re-run of a seed comes
//! to the same decision, while a client that picks its own id cannot steer it without the key.
//! Different purposes give independent draws of one action.
//!
//! Hash: SipHash-1-3 with a 128-bit key (Aumasson, Bernstein 2012): short-input keyed hashing, about 10 ns.
//! Rendezvous scores: Schindelhauer and Schomaker's logarithmic method, `-weight / ln(u)`.

use std::fmt;
use std::hash::Hasher;
use std::time::Duration;

use siphasher::sip::SipHasher13;

use crate::time::nanos;

/// What a draw decides. Each purpose is an independent draw of the same action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Whether the action belongs to the enrolled share of its cohort.
    Enrol,
    /// Control group, hedge or thinned, once the timer has fired.
    Arm,
    /// Whether a cancelled loser is read to its end to learn what cancelling costs.
    Audit,
    /// Jitter of a retry's back-off.
    Backoff,
    /// Whether an uneventful record is written.
    Sample,
}

impl Purpose {
    fn label(self) -> &'static [u8] {
        match self {
            Self::Enrol => b"enrol",
            Self::Arm => b"arm",
            Self::Audit => b"audit",
            Self::Backoff => b"backoff",
            Self::Sample => b"sample",
        }
    }
}

/// A secret 128-bit hash key. Debug never shows it.
#[derive(Clone)]
pub struct Key([u8; 16]);

impl Key {
    /// A key from 16 bytes of the caller's choice (random in the gateway, the seed in the simulator).
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The draw of one user action for one purpose, uniform over all of `u64`.
    pub fn draw(&self, action: u128, purpose: Purpose) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        hasher.write(&action.to_le_bytes());
        hasher.write(purpose.label());
        hasher.finish()
    }

    /// The keyed hash of any bytes: tenants, prompt prefixes, fingerprints.
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        hasher.write(bytes);
        hasher.finish()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(redacted)")
    }
}

/// True for `per_mille` thousandths of all draws: 0 is never, 1000 and more is always.
pub fn chance(draw: u64, per_mille: u16) -> bool {
    thousandth(draw) < per_mille
}

/// The draw as a thousandth, 0..=999, uniform to within 1e-16.
pub(crate) fn thousandth(draw: u64) -> u16 {
    ((u128::from(draw) * 1_000) >> 64) as u16
}

/// The draw as a number in [0, 1), 53 bits of it.
pub fn unit(draw: u64) -> f64 {
    (draw >> 11) as f64 / (1_u64 << 53) as f64
}

/// The draw as a duration, uniform in [0, `span`).
pub fn within(draw: u64, span: Duration) -> Duration {
    Duration::from_nanos(((u128::from(draw) * u128::from(nanos(span))) >> 64) as u64)
}

/// Weighted rendezvous score of one candidate: the candidate with the highest score is chosen, and each is
/// chosen in proportion to its weight. Weight 0 is never chosen. `hash` is [`Key::hash`] over key and candidate.
pub fn rendezvous(hash: u64, weight: u32) -> f64 {
    if weight == 0 {
        return f64::NEG_INFINITY;
    }
    // Half a step up keeps u inside (0, 1), so the logarithm is finite and negative.
    let u = (f64::from((hash >> 32) as u32) + 0.5) / 4_294_967_296.0;
    -f64::from(weight) / u.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key::new(*b"0123456789abcdef");

    #[test]
    fn the_same_action_and_purpose_always_draw_the_same() {
        assert_eq!(KEY.draw(7, Purpose::Enrol), KEY.draw(7, Purpose::Enrol));
        assert_ne!(KEY.draw(7, Purpose::Enrol), KEY.draw(7, Purpose::Arm));
        assert_ne!(KEY.draw(7, Purpose::Enrol), Key::new([0; 16]).draw(7, Purpose::Enrol));
    }

    #[test]
    fn purposes_are_independent() {
        let both = (0..20_000_u128)
            .filter(|&id| {
                chance(KEY.draw(id, Purpose::Enrol), 500) && chance(KEY.draw(id, Purpose::Arm), 500)
            })
            .count();
        assert!((4_700..5_300).contains(&both), "{both}");
    }

    #[test]
    fn chances_are_exact_at_their_ends() {
        for draw in [0, 1, u64::MAX / 2, u64::MAX] {
            assert!(!chance(draw, 0));
            assert!(chance(draw, 1_000));
        }
        assert!(chance(0, 1));
        assert!(!chance(u64::MAX, 999));
    }

    #[test]
    fn units_and_spans_stay_inside_their_range() {
        assert!(unit(u64::MAX) < 1.0);
        assert!(unit(0).abs() < f64::EPSILON);
        assert!(within(u64::MAX, Duration::from_secs(1)) < Duration::from_secs(1));
        assert_eq!(within(u64::MAX, Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn rendezvous_chooses_in_proportion_to_weight() {
        let chosen = (0..30_000_u64)
            .filter(|i| {
                let a = rendezvous(KEY.hash(&[&i.to_le_bytes()[..], b"a"].concat()), 300);
                let b = rendezvous(KEY.hash(&[&i.to_le_bytes()[..], b"b"].concat()), 100);
                a > b && rendezvous(*i, 0) < b
            })
            .count();
        assert!((22_000..23_000).contains(&chosen), "three quarters expected, got {chosen} of 30000");
    }

    #[test]
    fn a_key_is_redacted_in_debug_output() {
        assert_eq!(format!("{KEY:?}"), "Key(redacted)");
    }
}
