//! Which of several routes is next.
//!
//! With affinity: weighted rendezvous over a keyed hash (Schindelhauer and Schomaker), so a conversation stays where its
//! prompt cache is, and an ejected route moves only its own keys. Without: turns spread by the golden ratio, which keeps
//! every prefix of the sequence close to the weights. Inputs: a key or a turn, weights. Output: a score or a place.
//! Which routes take part is the caller's to say.

use crate::draw::rendezvous;

/// 2^64 divided by the golden ratio: the multiplicative constant of Fibonacci hashing (Knuth, TAOCP 3, 6.4).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The point of turn number `turn`, 0 the first, in the unit interval of all of `u64`.
pub fn point(turn: u64) -> u64 {
    turn.wrapping_mul(GOLDEN)
}

/// The place whose part of the interval holds `point`; a weight of 0 counts as 1. `weights` gives the same ones twice. `None`
/// without weights.
pub fn by_turn<W: Iterator<Item = u32>>(point: u64, weights: impl Fn() -> W) -> Option<usize> {
    let total: u64 = weights().map(|weight| u64::from(weight.max(1))).sum();
    let mut left = ((u128::from(point) * u128::from(total)) >> 64) as u64;
    weights().position(|weight| {
        let own = u64::from(weight.max(1));
        let here = left < own;
        left = left.saturating_sub(own);
        here
    })
}

/// Score of one route for a key: the highest wins, each in proportion to its weight.
pub fn score(key: u64, route: u16, weight: u32) -> f64 {
    rendezvous(mix(key, route), weight.max(1))
}

/// Spreads key and route over 64 bits (splitmix64's finaliser, Steele, Lea, Flood 2014).
fn mix(key: u64, route: u16) -> u64 {
    let mut z = key ^ u64::from(route).wrapping_mul(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_keep_every_prefix_close_to_the_weights() {
        // 3 : 1, so the last quarter of the unit interval belongs to the second route.
        for turns in [8_u64, 40, 400] {
            let second =
                (0..turns).filter(|turn| by_turn(point(*turn), || [300, 100].into_iter()) == Some(1)).count();
            assert!((second as f64 - turns as f64 / 4.0).abs() <= 2.0, "{turns}: {second}");
        }
        assert_eq!(by_turn(u64::MAX, || [1, 0].into_iter()), Some(1));
        assert_eq!(by_turn(7, std::iter::empty), None);
    }

    #[test]
    fn losing_one_route_moves_only_its_own_keys() {
        let pick = |key: u64, routes: &[u16]| {
            routes.iter().copied().max_by(|a, b| score(key, *a, 100).total_cmp(&score(key, *b, 100)))
        };
        for key in 0..500_u64 {
            let key = mix(key, 7);
            let before = pick(key, &[1, 2, 3]);
            let after = pick(key, &[1, 3]);
            assert!(before == after || before == Some(2), "{key}");
        }
    }
}
