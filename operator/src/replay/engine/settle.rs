//! Settling: what attempts cost, and what a user action was. `gateway/src/settle` in virtual time, over the same ledger.
//!
//! Beside what is booked, the run keeps what providers bill: a cancel that a provider ignores is booked at its lower bound
//! and billed to the end, and what was read from a prompt cache is known only of answers that came whole.

use hedgerow_config::money::Picos;
use hedgerow_policy::{
    draw::{Purpose, chance},
    ledger::{self, Basis, Booked, Kind, Role, Usage, extra_spend},
};

use super::{
    Engine,
    action::{Action, Fate, Leg, Side},
    cell::Cell,
    queue::{Event, Handle},
};
use crate::replay::{
    baseline::Ended,
    model::{
        Traffic,
        chance::{Stream, stream},
    },
};

/// How an attempt ended, as far as its bill goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Its answer was delivered.
    Won,
    /// It lost and was read to its end.
    ReadOn,
    /// It lost and was cancelled before its first token.
    Cancelled {
        /// The provider did not care.
        billed_whole: bool,
    },
    /// With an error, which is free.
    Failed,
}

/// Tokens of an ended attempt.
struct Tokens {
    /// As the ledger knows them.
    booked: Usage,
    basis: Basis,
    /// As the provider bills them.
    billed: Usage,
    /// What it would have billed for the primary alone; nothing for any other attempt.
    alone: Usage,
}

impl Tokens {
    fn of(traffic: &Traffic, continues: bool, leg: &Leg, ending: Ending, cell: &Cell) -> Self {
        let primary = leg.kind == Kind::Primary;
        let warm = if leg.cold || !primary { 0.0 } else { traffic.warm };
        let of = |cache_read, output| Usage {
            input_uncached: traffic.input - cache_read,
            cache_read,
            cache_write: 0,
            output,
        };
        let usage = |output| of((traffic.input as f64 * warm) as u64, output);
        let (booked, billed, basis) = match ending {
            Ending::Won | Ending::ReadOn => (usage(traffic.output), usage(traffic.output), Basis::Exact),
            Ending::Failed => (Usage::default(), Usage::default(), Basis::Exact),
            Ending::Cancelled { billed_whole } => {
                let share = if primary { u64::from(cell.cached_per_mille()) } else { 0 };
                let (output, basis) = match cell.usual_output().filter(|_| continues) {
                    Some(usual) => (usual, Basis::Estimated),
                    None => (0, Basis::LowerBound),
                };
                let billed = usage(if billed_whole { traffic.output } else { 0 });
                (of(traffic.input * share / 1_000, output), billed, basis)
            }
        };
        let alone =
            if primary && leg.fate == Fate::Answer { usage(traffic.output) } else { Usage::default() };
        Self { booked, basis, billed, alone }
    }
}

impl Engine<'_> {
    /// A loser is cancelled, or for a small share read to its end.
    pub(super) fn cancel(&mut self, handle: Handle, mut leg: Leg) {
        let Some(action) = self.actions.get(handle) else { return };
        let (pod, call) = (usize::from(action.pod), self.calls[action.call as usize]);
        let traffic = &self.model.traffic[usize::from(call.class)];
        self.unanswered(pod, traffic.cohort, &mut leg, Ended::Lost);
        let draw = self.pods[pod].key.draw(u128::from(call.number), Purpose::Audit);
        let audited = chance(draw, self.terms.audit_percent * 10);
        let provider = &mut self.providers[usize::from(leg.route)];
        let mut rng = stream(self.seed, Stream::Later, call.number.wrapping_mul(64) + 63);
        let ignored = rng.f64() < provider.model.ignores_cancel;
        let whole = (audited || ignored) && leg.fate == Fate::Answer;
        match leg.fate {
            Fate::Answer if whole => self.queue.at(leg.ends, Event::Gone(leg.route)),
            Fate::Answer | Fate::Failure => provider.end(),
            Fate::Refusal(_) => {}
        }
        if let Some(action) = self.actions.get(handle)
            && audited
        {
            action.audited.0 += 1;
            action.audited.1 += u64::from(leg.fate == Fate::Answer);
        }
        let ending = match (leg.fate, audited) {
            (Fate::Answer, true) => Ending::ReadOn,
            (Fate::Answer, false) => Ending::Cancelled { billed_whole: ignored },
            _ => Ending::Failed,
        };
        self.book(handle, &leg, ending);
    }

    /// Books an attempt that has ended.
    pub(super) fn book(&mut self, handle: Handle, leg: &Leg, ending: Ending) {
        let Some(action) = self.actions.get(handle) else { return };
        let call = self.calls[action.call as usize];
        let traffic = &self.model.traffic[usize::from(call.class)];
        let provider = &self.model.providers[usize::from(leg.route)];
        let pod = usize::from(action.pod);
        let cell = self.pods[pod].cell(traffic.cohort, leg.route);
        let tokens = Tokens::of(traffic, provider.continues, leg, ending, &self.pods[pod].cells[cell]);
        let won = ending == Ending::Won;
        let role = ledger::role(leg.kind, won, ending == Ending::Failed);
        let bill = |usage: &Usage| ledger::cost(usage, &provider.prices);
        let cost = bill(&tokens.booked);
        let (usage, basis) = (tokens.booked, tokens.basis);
        action.billed_tokens += tokens.billed.total();
        action.booked.push((Booked { kind: leg.kind, role, usage, basis, cost: Some(cost) }, leg.route));
        if basis == Basis::Exact && ending != Ending::Failed {
            self.pods[pod].cells[cell].wrote(usage.output);
        }
        if won {
            action.winner_usage = Some(usage);
            if leg.kind == Kind::Primary {
                self.pods[pod].cells[cell].read(traffic.input, usage.cache_read);
            }
        }
        let (billed, alone) = (bill(&tokens.billed).0, bill(&tokens.alone).0);
        let loser = role == Role::Loser;
        self.run.add(call.born, call.class, |sums| {
            sums.billed += billed;
            sums.billed_alone += alone;
            if loser {
                sums.billed_lost += billed;
                sums.lost += cost.0;
                sums.lost_tokens += tokens.billed.total();
            }
        });
    }

    /// The committed answer has been read to its end.
    pub(super) fn answer_ends(&mut self, handle: Handle) {
        let Some(action) = self.actions.get(handle) else { return };
        let Some((leg, side)) = action.winner.take() else { return };
        let (call, pod) = (action.call, usize::from(action.pod));
        self.providers[usize::from(leg.route)].end();
        self.pods[pod].in_flight[usize::from(leg.route)] -= 1;
        self.book(handle, &leg, Ending::Won);
        self.settle(handle, true, side == Side::Hedge);
        self.call_ends(call);
    }

    /// No attempt could be answered with.
    pub(super) fn no_answer(&mut self, handle: Handle, fate: Fate) {
        let Some(action) = self.actions.get(handle) else { return };
        let call = action.call;
        self.settle(handle, false, false);
        self.refused(call, fate);
    }

    fn settle(&mut self, handle: Handle, good: bool, by_hedge: bool) {
        let now = self.now;
        let Some(action) = self.actions.get(handle) else { return };
        let (index, permit) = (action.pod, action.permit.take());
        let call = self.calls[action.call as usize];
        let original = call.retries == 0;
        let cohort = self.model.traffic[usize::from(call.class)].cohort;
        let pod = &mut self.pods[usize::from(index)];
        if original {
            pod.budgets.0.settle(now, good);
            pod.budgets.1.settle(now, good);
        }
        let money = Money::of(action, self.model, pod.cell(cohort, action.first_route), &pod.cells);
        if let Some(cohort) = cohort {
            let audited = action.audited;
            pod.count(cohort, now, |counters| {
                counters.originals += u64::from(original);
                counters.errors += u64::from(original && !good);
                counters.wins += u64::from(by_hedge);
                counters.audited += audited.0;
                counters.late += audited.1;
                counters.cost += Picos(money.cost);
                counters.cost_without += Picos(money.alone);
                counters.cost_lost += Picos(money.lost);
                if money.cost > money.alone
                    && let Some(route) = money.hedge_route
                {
                    *counters.extra_by_route.entry(route.to_owned()).or_default() +=
                        Picos(money.cost - money.alone);
                }
            });
        }
        let tail_tokens = if action.tail { action.billed_tokens } else { 0 };
        self.run.add(call.born, call.class, |sums| {
            sums.originals += u64::from(original);
            sums.cost += money.cost;
            sums.alone += money.alone;
            sums.tail_tokens += tail_tokens;
        });
        if let Some(permit) = permit {
            if let Some(concurrency) = &mut pod.concurrency {
                // The seed's and the libraries' limiters take the time of the whole call as the sample.
                let held = now - permit.admitted();
                concurrency.sample(now, held, pod.lanes.in_flight(), !good);
                let mut rule = self.arm.lanes(self.model)[0].clone();
                rule.limiter.algorithm = hedgerow_policy::limiter::Algorithm::Fixed;
                rule.limiter.initial = concurrency.limit();
                pod.lanes.update(pod.lane_ids[0], rule);
            }
            pod.lanes.release(now, permit);
        }
        self.actions.end(handle);
        self.wake(index);
    }
}

/// An attempt that adds nothing: retries are no part of extra spend.
const NOTHING: Booked = Booked {
    kind: Kind::Retry,
    role: Role::Retry,
    usage: Usage { input_uncached: 0, cache_read: 0, cache_write: 0, output: 0 },
    basis: Basis::Exact,
    cost: None,
};

/// One user action's sums, in 1e-12 of the currency.
struct Money<'a> {
    cost: u128,
    alone: u128,
    lost: u128,
    hedge_route: Option<&'a str>,
}

impl<'a> Money<'a> {
    fn of(
        action: &Action,
        model: &'a crate::replay::model::Model,
        cell: usize,
        cells: &[super::cell::Cell],
    ) -> Self {
        let booked: &[(Booked, u8)] = &action.booked;
        let primary =
            booked.iter().find(|(booked, _)| booked.kind == Kind::Primary).map(|(booked, _)| booked);
        let by_hedge =
            booked.iter().any(|(booked, _)| booked.kind == Kind::Hedge && booked.role == Role::Winner);
        let (usage, cost) = match (primary, action.winner_usage) {
            (Some(_), Some(winner)) if by_hedge => {
                let input = winner.input_uncached + winner.cache_read + winner.cache_write;
                let cached = input * u64::from(cells[cell].cached_per_mille()) / 1_000;
                let usage = Usage {
                    input_uncached: input - cached,
                    cache_read: cached,
                    cache_write: 0,
                    output: winner.output,
                };
                let prices = &model.providers[usize::from(action.first_route)].prices;
                (usage, Some(ledger::cost(&usage, prices)))
            }
            (Some(booked), _) => (booked.usage, booked.cost),
            (None, _) => (Usage::default(), Some(ledger::Cost::ZERO)),
        };
        // At most three attempts, and no allocation for them.
        let mut attempts = [NOTHING; 4];
        for (place, (booked, _)) in attempts.iter_mut().zip(booked) {
            *place = *booked;
        }
        let extra = extra_spend(&attempts, &usage, cost);
        let hedge = booked.iter().find(|(booked, _)| booked.kind == Kind::Hedge);
        let lost = booked.iter().filter(|(booked, _)| booked.role == Role::Loser);
        Self {
            cost: extra.actual.0,
            alone: extra.alone.0,
            lost: lost.filter_map(|(booked, _)| booked.cost).map(|cost| cost.0).sum(),
            hedge_route: hedge.map(|(_, route)| model.providers[usize::from(*route)].name),
        }
    }
}
