//! What a run is remembered by. Recording is a push or an addition; figures are computed when the run is over.

use std::collections::BTreeMap;

use hedgerow_policy::{gate::Reason, time::Moment};

use crate::replay::model::{Model, Span};

/// One answered call: when it was born, in seconds; how long its user waited for the first token, all tries included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Birth of the call.
    pub born: f32,
    /// Seconds to the first token.
    pub waited: f32,
    /// Traffic class.
    pub class: u16,
    /// The user got the hedge's answer.
    pub by_hedge: bool,
}

/// Sums of one span and class. Costs are in 1e-12 of the currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Calls, by birth.
    pub calls: u64,
    /// Answered calls.
    pub answered: u64,
    /// Calls given up after a refusal of ours or a 429.
    pub shed: u64,
    /// Calls given up after an error.
    pub failed: u64,
    /// Tries that were refused.
    pub refusals: u64,
    /// Tries.
    pub tries: u64,
    /// Enrolled user actions, client retries aside.
    pub originals: u64,
    /// Attempts sent to providers.
    pub attempts: u64,
    /// Hedges sent.
    pub hedges: u64,
    /// Hedges that won.
    pub wins: u64,
    /// Booked cost of primaries and hedges.
    pub cost: u128,
    /// Estimated cost of the primaries alone.
    pub alone: u128,
    /// Booked cost of losers.
    pub lost: u128,
    /// What providers billed for everything.
    pub billed: u128,
    /// What they would have billed for the primaries alone.
    pub billed_alone: u128,
    /// What providers billed for losers.
    pub billed_lost: u128,
    /// Tokens of losers as providers billed them.
    pub lost_tokens: u64,
    /// Tokens of all attempts for answers that came in the tail ([`Model::tail`]), as providers billed them.
    pub tail_tokens: u64,
}

/// A guardrail transition.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Seconds since the start.
    pub at: f64,
    /// Cohort.
    pub cohort: usize,
    /// State after.
    pub to: &'static str,
    /// Why, in one word.
    pub reason: &'static str,
    /// In one line.
    pub line: String,
}

/// The world at one moment, every ten seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Seconds since the start.
    pub at: f64,
    /// Limit of each lane, summed over pods.
    pub limits: Vec<u32>,
    /// Limit of lane 0 in each pod; 0 = not live.
    pub by_pod: Vec<u32>,
    /// In flight in each lane.
    pub in_flight: Vec<u32>,
    /// Attempts in service at each provider.
    pub in_service: Vec<u32>,
    /// Attempts that each provider has received so far.
    pub received: Vec<u64>,
    /// State of the first cohort.
    pub state: &'static str,
    /// Hedge delay in seconds, mean over live pods and routes of the first cohort; 0 = not known yet.
    pub delay: f64,
}

/// Everything about one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Answered calls, in the order of their first tokens.
    pub samples: Vec<Sample>,
    /// By span, then by class; the last span is the whole run.
    pub sums: Vec<Vec<Sums>>,
    /// Guardrail transitions.
    pub turns: Vec<Turn>,
    /// Ten-second frames.
    pub frames: Vec<Frame>,
    /// Why firings sent no hedge.
    pub reasons: BTreeMap<&'static str, u64>,
    /// Most attempts in service at each provider.
    pub peaks: Vec<u32>,
    /// Attempts started in each second of the run.
    pub attempts: Vec<u32>,
    /// Tries that arrived in each second.
    pub tries: Vec<u32>,
    /// First tokens in each second.
    pub answers: Vec<u32>,
    /// Hedges sent in each second.
    pub hedges: Vec<u32>,
    /// State changes of breakers: (seconds, pod, route, state).
    pub breakers: Vec<(f64, u16, u8, &'static str)>,
    /// 99th percentile that primaries alone would have given, by Kaplan-Meier on the first cohort's primaries, with its
    /// 95 % interval: (lower end, estimate, upper end) in seconds.
    pub alone_p99: (f64, f64, f64),
    /// A moment that a scenario has drawn, in seconds.
    pub mark: f64,
    /// Attempts sent to a route that had asked the pod to wait.
    pub early: u64,
    /// Events processed.
    pub events: u64,
    /// User actions without an end when the run ended.
    pub unfinished: u64,
    /// Permits that no user action holds any more but a lane counts; 0 unless there is a bug.
    pub leaks: u64,
    /// Parts of the time, as the model names them.
    pub spans: Vec<Span>,
}

impl Run {
    /// Nothing yet.
    pub fn new(model: &Model) -> Self {
        let seconds = model.seconds.ceil() as usize + 1;
        let classes = model.traffic.len();
        Self {
            sums: vec![vec![Sums::default(); classes]; model.spans.len() + 1],
            spans: model.spans.clone(),
            attempts: vec![0; seconds],
            tries: vec![0; seconds],
            answers: vec![0; seconds],
            hedges: vec![0; seconds],
            ..Self::default()
        }
    }

    /// Adds to the sums of a class, in every span that holds the birth of the call.
    pub fn add(&mut self, born: Moment, class: u16, change: impl Fn(&mut Sums)) {
        let at = secs(born);
        let last = self.spans.len();
        for (place, sums) in self.sums.iter_mut().enumerate() {
            let inside =
                place == last || self.spans.get(place).is_some_and(|span| (span.from..span.to).contains(&at));
            if inside && let Some(sums) = sums.get_mut(usize::from(class)) {
                change(sums);
            }
        }
    }

    /// Counts a firing that sent no hedge.
    pub fn refused(&mut self, reason: Reason) {
        *self.reasons.entry(reason.as_str()).or_default() += 1;
    }

    /// Adds one in the second of now.
    pub fn tick(series: &mut [u32], now: Moment) {
        if let Some(count) = series.get_mut(now.as_secs() as usize) {
            *count += 1;
        }
    }
}

/// Seconds since the start.
pub fn secs(at: Moment) -> f64 {
    at.as_nanos() as f64 / 1e9
}
