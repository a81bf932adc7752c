//! What `kubectl get hp` and `kubectl describe hp` say of a policy in every state of its guardrails, Events included.

use std::time::Duration;

use hedgerow_policy::guardrail::{Ratio, TailGain};

use crate::{
    ROUTE, golden,
    story::{Story, hedged},
};

/// A policy with these lines in its spec, and these in its guardrails.
fn policy(spec: &str, guardrails: &str) -> String {
    format!(
        "{ROUTE}---
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {{name: chat}}
spec:
  cohorts: [{{name: stream}}]
  {spec}
  guardrails: {{cooldown: 60s{guardrails}}}
"
    )
}

const ENFORCE: &str = "mode: Enforce
  ramp: {startPercent: 100}";
/// The ramp of the defaults.
const SLOWLY: &str = "mode: Enforce";

/// Compares with `operator/testdata/described/STATE.yaml`.
fn described(state: &str, story: &Story) {
    golden("testdata/described", state, &story.told(true));
}

fn enforced(guardrails: &str) -> Story {
    Story::new(&policy(ENFORCE, guardrails))
}

/// Extra spend over its limit, until it trips.
fn dear(story: Story) -> Story {
    story.traffic(200, |counters| hedged(counters, 7, 2, 124))
}

#[test]
fn while_hedging_is_on() {
    described("active", &enforced("").calm(400));
    let none = enforced("").traffic(400, |_| ()).then(|story| {
        story.helped = false;
        story.not_hedged = [("NoAlternate".to_owned(), 143), ("Withheld".to_owned(), 9)].into();
    });
    described("active-without-hedges", &none);
    let unpriced = enforced("").traffic(400, |counters| {
        hedged(counters, 4, 3, 0);
        counters.cost = hedgerow_config::money::Picos(0);
        counters.cost_without = hedgerow_config::money::Picos(0);
        (counters.unpriced_tokens, counters.unpriced_tokens_without) = (100_900, 100_000);
    });
    described("active-unpriced", &unpriced);
    let ramp = || Story::new(&policy(SLOWLY, ""));
    described("ramping", &ramp().calm(400));
    described("ramping-second-step", &ramp().calm(1_000));
}

#[test]
fn while_hedging_is_only_watched_or_off() {
    described("observing", &Story::new(&policy("mode: Observe", "")).calm(400));
    described("disabled", &Story::new(&policy("mode: Disabled", "")));
    let off = Story::new(&policy(&format!("{ENFORCE}\n  suspend: true"), ""));
    described("suspended-in-the-spec", &off);
}

#[test]
fn after_a_breach_of_what_hedges_cost() {
    let many = |story: Story| story.traffic(60, |counters| hedged(counters, 20, 15, 30));
    described("duplicate-rate", &many(enforced("").calm(400)));
    described("extra-spend", &dear(enforced("").calm(400)));
    let in_tokens = enforced("").calm(400).traffic(360, |counters| {
        hedged(counters, 7, 2, 0);
        counters.cost = hedgerow_config::money::Picos(0);
        counters.cost_without = hedgerow_config::money::Picos(0);
        (counters.unpriced_tokens, counters.unpriced_tokens_without) = (109_000, 100_000);
    });
    described("extra-spend-in-tokens", &in_tokens);
    let lost = enforced("").traffic(400, |counters| hedged(counters, 4, 0, 15));
    described("win-rate", &lost);
    let late = enforced(", lateCompletions: {tripPercent: 50}").traffic(400, |counters| {
        hedged(counters, 4, 3, 9);
        (counters.audited, counters.late) = (2, 2);
    });
    described("late-completions", &late);
    let spent = enforced(", dailySpendMicros: 5000000")
        .then(|story| story.measured.context.spent_today = 5_200_000_000_000)
        .calm(20);
    described("daily-spend", &spent);
}

#[test]
fn after_a_breach_of_what_users_see() {
    let errors = enforced("")
        .then(|story| story.measured.context.error_baseline = Some(Ratio::of(1_u32, 100_u32)))
        .calm(400)
        .traffic(60, |counters| {
            hedged(counters, 4, 3, 9);
            counters.errors = 8;
        });
    described("error-rate", &errors);
    let gain = TailGain { per_mille: 12, upper_per_mille: 31, requests: 5_000 };
    let gainless = enforced("").then(|story| story.measured.context.tail_gain = Some(gain)).calm(60);
    described("tail-gain", &gainless);
    let medians = Some((Duration::from_millis(1_200), Duration::from_millis(600)));
    let shifted = enforced("").calm(400).then(|story| story.measured.context.median = medians).calm(20);
    described("median-shift", &shifted);
}

#[test]
fn on_the_way_back() {
    described("trial", &dear(enforced("").calm(400)).wait(60).wait(10));
    let failed = dear(enforced("").calm(400)).wait(70).traffic(40, |counters| hedged(counters, 7, 2, 82));
    described("trial-failed", &failed);
    described("trial-passed", &dear(enforced("").calm(400)).wait(70).calm(320));
    described("until-resumed", &dear(enforced(", recovery: Manual").calm(400)).wait(3_600));
    let most = dear(enforced(", maxTripsPerDay: 1").calm(400)).wait(70);
    described("most-trips-of-a-day", &most);
}

#[test]
fn by_hand() {
    let held = |story: &mut Story| {
        let until = story.later(Duration::from_hours(2));
        story.annotations.insert("hedgerow.dev/suspend.stream".to_owned(), until);
    };
    described("held", &enforced("").calm(400).then(held).calm(10));
    let over = enforced("").calm(400).then(held).calm(10).then(|story| story.annotations.clear());
    described("hold-over", &over.wait(7_200));
    let resumed = dear(enforced("").calm(400)).then(|story| {
        story.annotations.insert("hedgerow.dev/resume.stream".to_owned(), "2026-11-29T03:25:00Z".to_owned());
    });
    described("resumed", &resumed.calm(10));
}

#[test]
fn when_too_little_is_known() {
    described("no-traffic", &enforced(""));
    described("little-traffic", &enforced("").traffic(60, |counters| counters.originals = 3));
    let unread = enforced("").calm(400).then(|story| story.unseen = Duration::from_mins(1)).wait(60);
    golden("testdata/described", "unreadable", &unread.told(false));
    let blind = enforced("").calm(400).then(|story| story.unseen = Duration::from_mins(30)).wait(1_800);
    golden("testdata/described", "blind", &blind.told(false));
    let seen = blind.then(|story| story.unseen = Duration::ZERO).wait(70);
    described("blind-no-more", &seen);
}

#[test]
fn when_another_policy_has_the_cohort() {
    let first = policy("mode: Enforce\n  priority: 900", "").replace("name: chat}", "name: first}");
    let second = policy(ENFORCE, "").replace(ROUTE, "");
    described("conflicted", &Story::new(&format!("{first}{second}")));
}
