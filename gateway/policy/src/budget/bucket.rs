//! One bucket: balance, cap, deposits, and the measured rate behind the cap.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::time::Duration;

use super::rate::Window;
use super::reserve::Reserve;
use super::{Source, Spend};
use crate::atomic::AtomicU64;
use crate::time::Moment;

/// Milli-tokens of one retry or hedge.
pub const TOKEN: u64 = 1_000;
/// The cap follows the originals of this span.
const RATE_SPAN: Duration = Duration::from_secs(10);
/// Deposits follow the outcomes of this span.
const OUTCOME_SPAN: Duration = Duration::from_secs(30);
/// Fewer outcomes than this say nothing about "most": one failed request must not stop deposits.
const MIN_OUTCOMES: u64 = 10;
/// How much larger the pod's bucket is than a model's.
const POD_FACTOR: u64 = 4;

/// `spec.budget` and the replicas it is shared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Deposit of one original, in percent of a token, 0..=100.
    pub ratio_percent: u16,
    /// Most tokens the fleet keeps for one model.
    pub cap: u32,
    /// Retries a second of the fleet that need no deposit.
    pub retry_reserve_per_second: u32,
    /// Ready pods that share cap, start and reserve; 0 counts as 1.
    pub replicas: u32,
}

impl Default for Rule {
    fn default() -> Self {
        Self { ratio_percent: 10, cap: 50, retry_reserve_per_second: 1, replicas: 1 }
    }
}

/// A bucket of milli-tokens. All methods take `&self`; any interleaving keeps `0 <= balance <= hi`.
#[derive(Debug)]
pub struct Bucket {
    balance: AtomicU64,
    deposit: AtomicU64,
    lo: AtomicU64,
    hi: AtomicU64,
    factor: u64,
    reserve: Reserve,
    originals: Window,
    /// Failed first, succeeded second.
    outcomes: Window,
}

impl Bucket {
    /// A model's bucket in this pod.
    pub fn new(rule: &Rule, now: Moment) -> Self {
        Self::scaled(rule, now, 1)
    }

    /// The pod's bucket over all models: the same rule with four times the cap and reserve.
    pub fn pod(rule: &Rule, now: Moment) -> Self {
        Self::scaled(rule, now, POD_FACTOR)
    }

    fn scaled(rule: &Rule, now: Moment, factor: u64) -> Self {
        let bucket = Self {
            balance: AtomicU64::new(0),
            deposit: AtomicU64::new(0),
            lo: AtomicU64::new(0),
            hi: AtomicU64::new(0),
            factor,
            reserve: Reserve::new(0, 1, now),
            originals: Window::new(RATE_SPAN),
            outcomes: Window::new(OUTCOME_SPAN),
        };
        bucket.set_rule(rule);
        let start = (factor * 5 * TOKEN / replicas(rule)).max(TOKEN);
        bucket.balance.store(start.min(bucket.hi.load(Relaxed)), Relaxed);
        bucket
    }

    /// Takes a changed rule or number of replicas; the balance is cut to the new maximum.
    pub fn set_rule(&self, rule: &Rule) {
        let hi = (self.factor * u64::from(rule.cap) * TOKEN / replicas(rule)).max(2 * TOKEN);
        self.deposit.store(u64::from(rule.ratio_percent) * TOKEN / 100, Relaxed);
        self.hi.store(hi, Relaxed);
        self.lo.store(hi.min(10 * TOKEN), Relaxed);
        self.reserve.set(self.factor * u64::from(rule.retry_reserve_per_second), replicas(rule));
        self.cut(hi);
    }

    /// Deposits for one original; returns the milli-tokens credited (less at the cap, 0 while most fail).
    pub fn deposit(&self, now: Moment) -> u64 {
        self.originals.count(now, false);
        let (failed, succeeded) = self.outcomes.sums(now);
        if failed > succeeded && failed + succeeded >= MIN_OUTCOMES {
            return 0;
        }
        self.credit(self.deposit.load(Relaxed), self.cap_milli(now))
    }

    /// One user action ended: did its client get an answer?
    pub fn settle(&self, now: Moment, ok: bool) {
        self.outcomes.count(now, ok);
    }

    /// Milli-tokens now.
    pub fn balance_milli(&self) -> u64 {
        self.balance.load(Relaxed)
    }

    /// Milli-tokens the bucket may hold at the present rate.
    pub fn cap_milli(&self, now: Moment) -> u64 {
        let (lo, hi) = (self.lo.load(Relaxed), self.hi.load(Relaxed));
        let earned = self.deposit.load(Relaxed) * self.originals.sums(now).0;
        earned.min(hi).max(lo)
    }

    /// Takes one token, or says no.
    pub(super) fn withdraw(&self, spend: Spend, now: Moment) -> Option<Source> {
        let needed = match spend {
            Spend::Hedge => TOKEN + self.cap_milli(now) / 4,
            Spend::Retry => TOKEN,
        };
        let taken = self.balance.fetch_update(Relaxed, Relaxed, |balance| {
            if balance >= needed { balance.checked_sub(TOKEN) } else { None }
        });
        match (taken, spend) {
            (Ok(_), _) => Some(Source::Balance),
            (Err(_), Spend::Retry) if self.reserve.take(now) => Some(Source::Reserve),
            (Err(_), _) => None,
        }
    }

    pub(super) fn give_back(&self, source: Source) {
        match source {
            Source::Balance => {
                self.credit(TOKEN, self.hi.load(Relaxed));
            }
            Source::Reserve => self.reserve.give_back(),
        }
    }

    /// Adds up to `amount` without passing `limit`; a balance already above it stays.
    fn credit(&self, amount: u64, limit: u64) -> u64 {
        let credited = |balance: u64| amount.min(limit.saturating_sub(balance));
        let added = self
            .balance
            .fetch_update(AcqRel, Acquire, |balance| Some(balance + credited(balance)))
            .map_or(0, credited);
        // `limit` may be that of a rule which was replaced meanwhile. Whoever changes the balance last sees the new one:
        // either the change of the rule cuts what was added here, or this does.
        let hi = self.hi.load(Relaxed);
        if self.balance.load(Relaxed) > hi {
            self.cut(hi);
        }
        added
    }

    /// Cuts the balance to `hi`.
    fn cut(&self, hi: u64) {
        // The closure always returns Some, so this cannot fail.
        let _ = self.balance.fetch_update(AcqRel, Acquire, |balance| Some(balance.min(hi)));
    }
}

fn replicas(rule: &Rule) -> u64 {
    u64::from(rule.replicas.max(1))
}
