//! The micro-benchmarks by name: what is done once, and what is repeated.
//!
//! A case is set up and then run a given number of times; the runner counts instructions of two different numbers and
//! takes the difference, so that set-up and start of the process are not in the figure.

use std::{hint::black_box, time::Duration};

use bytes::Bytes;
use hedgerow_gateway::wire::{
    dialect::Operation,
    document::{Document, Reading},
    eligibility,
    scan::scan,
    splice::{Change, splice},
    sse::Framer,
    token::StreamReader,
};
use hedgerow_policy::{
    budget::{self, Bucket, Spend},
    delay,
    gate::{self, Alternate, Facts},
    lane::{Arrival, Lanes, Request, Rule},
    latency::{Counts, Curve, Decayed, Recorder},
    ledger::{Prices, Usage, cost},
    time::Moment,
};

use crate::{bookkeeping::Pod, prompt};

/// A case: its name, and what runs it so many times.
pub type Case = (&'static str, fn(u64));

/// All cases.
pub const CASES: &[Case] = &[
    ("admission and hedge bookkeeping", bookkeeping),
    ("gate", decide),
    ("lane: arrive and release", lane),
    ("budget: deposit and take", budget),
    ("latency: record", record),
    ("latency: curve of a cell", curve),
    ("delay of a cell", plan),
    ("cost", price),
    ("scan 1 KB", |times| body(times, 1_024, false)),
    ("scan 100 KB prose", |times| body(times, 100_000, false)),
    ("scan 100 KB code", |times| body(times, 100_000, true)),
    ("take 100 KB in four pieces", |times| take(times, false)),
    ("take 100 KB of code in four pieces", |times| take(times, true)),
    ("classify and splice", classify),
    ("one streamed token", token),
];

fn now() -> Moment {
    Moment::from_secs(1_000_000)
}

fn bookkeeping(times: u64) {
    let mut pod = Pod::default();
    for _ in 0..times {
        black_box(pod.action());
    }
}

fn decide(times: u64) {
    let alternate = Alternate { win_per_mille: Some(500), pair_hedges: 100, ..Alternate::default() };
    let facts = Facts { alternate: Some(alternate), ..Facts::default() };
    for _ in 0..times {
        black_box(gate::decide(black_box(&facts)));
    }
}

fn lane(times: u64) {
    let mut lanes = Lanes::new(900);
    let lane = lanes.add(now(), Rule::default(), None);
    for tenant in 0..times {
        let request =
            Request { lane, tenant: tenant % 64, returning: false, patience: Duration::from_secs(1) };
        let at = now() + Duration::from_millis(tenant);
        if let Arrival::Admit(permit) = lanes.arrive(at, black_box(request)) {
            lanes.release(at, permit);
        }
    }
}

fn budget(times: u64) {
    let rule = budget::Rule { ratio_percent: 100, ..budget::Rule::default() };
    let (model, pod) = (Bucket::new(&rule, now()), Bucket::pod(&rule, now()));
    for time in 0..times {
        let at = now() + Duration::from_millis(time);
        budget::deposit(&model, &pod, at);
        let _ = black_box(budget::take(&model, &pod, Spend::Hedge, at));
    }
}

fn record(times: u64) {
    let recorder = Recorder::new();
    for time in 0..times {
        recorder.event(Duration::from_micros(black_box(900_000 + 37 * time)));
    }
    black_box(&recorder);
}

/// A cell after some thousand answers.
fn cell() -> Decayed {
    let mut counts = Counts::new();
    for time in 0..5_000_u64 {
        counts.event(Duration::from_millis(300 + time * time % 7_919));
        if time % 20 == 0 {
            counts.censor(Duration::from_millis(2_000 + time));
        }
    }
    let mut cell = Decayed::new();
    cell.add(&counts, 1.0);
    cell
}

fn curve(times: u64) {
    let (cell, running) = (cell(), [Duration::from_secs(2); 16]);
    for _ in 0..times {
        black_box(Curve::new(black_box(&cell), &running));
    }
}

fn plan(times: u64) {
    let curve = Curve::new(&cell(), &[]);
    let rule = delay::Rule::default();
    let inputs = delay::Inputs { primary: Some(&curve), alternate: Some(&curve), ..delay::Inputs::default() };
    for _ in 0..times {
        black_box(delay::plan(&rule, black_box(&inputs)));
    }
}

fn price(times: u64) {
    let usage = Usage { input_uncached: 1_200, output: 300, ..Usage::default() };
    let prices = Prices { input: 1_000_000, ..Prices::default() };
    for _ in 0..times {
        black_box(cost(black_box(&usage), black_box(&prices)));
    }
}

fn body(times: u64, bytes: usize, code: bool) {
    let body = prompt::chat(bytes, code, true);
    for _ in 0..times {
        let _ = black_box(scan(black_box(&body)));
    }
}

/// What comes before a scan of the whole, in pieces as a read buffer gives them.
fn take(times: u64, code: bool) {
    let body = Bytes::from(prompt::chat(100_000, code, true));
    for _ in 0..times {
        let mut reading = Reading::new(Some(body.len() as u64));
        for start in (0..body.len()).step_by(32_768) {
            reading.push(body.slice(start..body.len().min(start + 32_768)));
        }
        let document = black_box(reading.finish());
        let _ = black_box(scan(document.text()));
    }
}

fn classify(times: u64) {
    let body = Bytes::from(prompt::chat(1_024, false, true));
    let Ok(scan) = scan(&body) else { return };
    let change = Change { model: Some("other"), include_usage: true };
    let document = Document::from(body.clone());
    for _ in 0..times {
        black_box(eligibility::classify(Operation::ChatCompletions, black_box(&scan), &body, "bench", false));
        black_box(splice(&document, &scan, Operation::ChatCompletions, change));
    }
}

fn token(times: u64) {
    let chunk = Bytes::from_static(
        b"data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m\",\
        \"choices\":[{\"index\":0,\"delta\":{\"content\":\" hedgerow\"},\"finish_reason\":null}]}\n\n",
    );
    let (mut framer, mut reader) = (Framer::new(1 << 20), StreamReader::new(Operation::ChatCompletions));
    for _ in 0..times {
        framer.push(black_box(chunk.clone()));
        while let Ok(Some(frame)) = framer.next_frame() {
            black_box(reader.read(&frame));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_runs_and_has_a_name_of_its_own() {
        let mut names: Vec<_> = CASES.iter().map(|(name, _)| *name).collect();
        for (_, run) in CASES {
            run(3);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CASES.len());
    }
}
