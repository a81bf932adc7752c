//! S6: how many may run, found out by asking.
//!
//! One provider carries 300 at once; beyond that everybody gets slower in proportion, beyond 400 it answers 429. A user action
//! holds its place for 2 s (0.6 s to the first token). Worlds: demand of 160 % while the capacity falls to 150 for ten minutes
//! and comes back; demand of 60 %, where a limit has no reason to move; one pod that is joined by three after five minutes.
//! The first world is also run without 429s: one that names no wait puts the pod's only route aside for a second and more
//! (`breaker`, throttled), which costs goodput that no limiter can save. How much follows from the rules: 429s come at 4/3 of
//! the capacity, before anybody is half slower, so every climb ends in one. Then the limit L of a pod is cut by a quarter and
//! grows by 10 (1 % of 1,000) a window of 1 s, n = L / 40 windows rounded up, and the route is aside for 1 to 2 s. So n of n + 1.5
//! seconds are open: 67 % while the capacity is 150 (L = 100), 77 % while it is 300 (L = 200). 97 % would need a provider that
//! says how long to wait, or limits (`limits.maxConcurrent`) that keep the pods below its own.
//! How fairly pods share is said of a minute, not of a moment: with a cut of a quarter every two or three windows of 10 places
//! each, pods stand at different heights of the same climb, and a moment's index is 0.96 on average and 0.84 at worst however
//! long they have been there; over twenty minutes it is 0.999. (Moving each limit by 2 % of its gap to the fleet's mean in every
//! window, as the notes suggest, changes neither.)
//! Goodput is answers over what the capacity could have answered.

use hedgerow_policy::{lane, limiter};

use super::{Acceptance, Case, Scenario};
use crate::replay::{
    Figures, Results,
    baseline::{Aimd, Envoy, GoLane, Gradient2, Vegas},
    engine::{Frame, Run},
    model::{Arm, Model, Provider, Span, Traffic, Weather, chance::Shape, sdk::Sdk},
};

const SECONDS: f64 = 1_800.0;
const CAPACITY: f64 = 300.0;
/// 429s from this multiple of it on.
const REFUSES: f64 = 4.0 / 3.0;
/// Mean seconds that a user action holds its place.
const HOLD: f64 = 2.03;
const OVER: &str = "160 %, capacity 300, 150, 300";
const SLOWER: &str = "160 %, 300, 150, 300, no 429";
const UNDER: &str = "60 %";
const JOINED: &str = "160 %, 1 pod, then 4";

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "s06-capacity",
    about: "a capacity that nobody tells: goodput, 429, fairness between pods, of every limiter",
    cases,
    run: super::simulate,
    figures,
    accept,
    table: None,
};

fn capacity(at: f64) -> f64 {
    if (600.0..1_200.0).contains(&at) { CAPACITY / 2.0 } else { CAPACITY }
}

pub(super) fn world(load: f64, pods: Vec<(f64, f64)>, capacity: fn(f64) -> f64) -> Model {
    let provider = Provider {
        generation: Shape::lognormal(1.36, 0.25),
        refuses: REFUSES,
        ..Provider::steady("east", Shape::lognormal(0.6, 0.3))
    }
    .under(move |at| Weather { capacity: capacity(at), ..Weather::FINE });
    let chat = Traffic { cohort: None, sdk: Sdk::NONE, ..Traffic::chat(load * CAPACITY / HOLD, SECONDS) };
    Model {
        pods,
        lanes: vec![lane::Rule { max_depth_percent: 0, ..lane::Rule::default() }],
        spans: vec![
            Span { name: "all", from: 120.0, to: SECONDS },
            Span { name: "after the fall", from: 660.0, to: 1_200.0 },
            Span { name: "after the rise", from: 1_260.0, to: SECONDS },
        ],
        ..Model::new(SECONDS, vec![provider], vec![chat])
    }
}

fn cases() -> Vec<Case> {
    let two = || vec![(0.0, f64::INFINITY); 2];
    let gradient = || {
        let limiter = limiter::Rule { algorithm: limiter::Algorithm::Gradient, ..limiter::Rule::default() };
        vec![lane::Rule { limiter, max_depth_percent: 0, ..lane::Rule::default() }]
    };
    let arms = || {
        let plain = |name| Arm { name, ..Arm::none().without_ejection() };
        vec![
            plain("hedgerow"),
            Arm { lanes: Some(gradient()), ..plain("hedgerow gradient") },
            Arm { limiter: Some(GoLane::boxed), ..plain("go gateway") },
            Arm { limiter: Some(Aimd::boxed), ..plain("netflix aimd") },
            Arm { limiter: Some(Vegas::boxed), ..plain("netflix vegas") },
            Arm { limiter: Some(Gradient2::boxed), ..plain("netflix gradient2") },
            Arm { limiter: Some(Envoy::boxed), ..plain("envoy gradient") },
        ]
    };
    let mut joined = vec![(0.0, f64::INFINITY)];
    joined.extend([(300.0, f64::INFINITY); 3]);
    vec![
        Case { name: OVER, model: world(1.6, two(), capacity), arms: arms() },
        Case { name: SLOWER, model: calm(world(1.6, two(), capacity)), arms: arms() },
        Case { name: UNDER, model: world(0.6, two(), |_| CAPACITY), arms: arms() },
        Case { name: JOINED, model: world(1.6, joined, |_| CAPACITY), arms: arms() },
    ]
}

/// The same provider, which never refuses.
fn calm(model: Model) -> Model {
    let providers =
        model.providers.iter().cloned().map(|provider| Provider { refuses: f64::INFINITY, ..provider });
    Model { providers: providers.collect(), ..model }
}

/// Share of the time in which the only route is not aside, between two pods, where every climb ends in 429s without a wait.
fn open_share(capacity: f64) -> f64 {
    let windows = (capacity * REFUSES / 2.0 / 40.0).ceil();
    windows / (windows + 1.5)
}

/// Jain's index (Jain, Chiu, Hawe 1984) of what each live pod might run in these frames.
fn jain(frames: &[&Frame]) -> f64 {
    let of = |pod: usize| frames.iter().filter_map(|frame| frame.by_pod.get(pod)).sum::<u32>();
    let pods = frames.iter().map(|frame| frame.by_pod.len()).max().unwrap_or(0);
    let limits: Vec<f64> = (0..pods).map(of).filter(|sum| *sum > 0).map(f64::from).collect();
    let (sum, squares) = limits.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    sum * sum / (limits.len() as f64 * squares)
}

fn figures(case: &Case, _: &Arm, run: &Run, figures: &mut Figures) {
    for span in &case.model.spans {
        let steps = (span.from as u64..span.to as u64).map(|second| second as f64);
        let varies = case.name == OVER || case.name == SLOWER;
        let possible: f64 = steps.map(|at| if varies { capacity(at) } else { CAPACITY } / HOLD).sum();
        let demand = Run::total(&run.tries, span.from, span.to);
        let good = Run::total(&run.answers, span.from, span.to);
        figures.set(format!("goodput {}", span.name), 100.0 * good / possible.min(demand));
    }
    let sums = run.sum(0);
    let refused = sums.attempts.saturating_sub(sums.answered) as f64;
    figures.set("429", 100.0 * refused / sums.attempts.max(1) as f64);
    let at = |seconds: f64| run.frames.iter().find(|frame| frame.at >= seconds);
    let limit = |seconds: f64| at(seconds).map_or(f64::NAN, |frame| f64::from(frame.limits[0]));
    figures.set("drift", limit(SECONDS - 20.0) / limit(300.0));
    figures.set("limit", limit(SECONDS - 20.0));
    let minute: Vec<&Frame> = run.frames.iter().filter(|frame| (850.0..910.0).contains(&frame.at)).collect();
    figures.set("jain", jain(&minute));
}

fn accept(results: &Results) -> Vec<Acceptance> {
    let of = |case, figure| results.median(case, "hedgerow", figure);
    let mut all = Vec::new();
    for (case, words) in [(SLOWER, "without 429"), (OVER, "with 429")] {
        for change in ["fall", "rise"] {
            let what = format!("goodput at 160 %, 60 s after the {change} and on, {words}, percent");
            let figure = format!("goodput after the {change}");
            let capacity = if change == "fall" { CAPACITY / 2.0 } else { CAPACITY };
            let limit = if case == SLOWER { 97.0 } else { (95.0 * open_share(capacity)).floor() };
            all.push(Acceptance::at_least(what, results.median(case, "hedgerow", &figure), limit));
        }
    }
    let jain = (results.mean(JOINED, "hedgerow", "jain"), results.least(JOINED, "hedgerow", "jain"));
    all.extend([
        Acceptance::at_most("429 of the provider at 160 %, percent of attempts", of(OVER, "429"), 2.0),
        Acceptance::between(
            "limit at the end over that after 5 min, 60 % load",
            of(UNDER, "drift"),
            0.8,
            1.25,
        ),
        Acceptance::at_least("goodput at 60 %, percent of demand", of(UNDER, "goodput all"), 97.0),
        Acceptance::at_most(
            "goodput of netflix vegas at 60 %, percent of demand: calls vary, which a minimum takes for a queue",
            results.median(UNDER, "netflix vegas", "goodput all"),
            50.0,
        ),
        Acceptance::at_least("Jain's index in the minute 10 min after three pods joined, mean", jain.0, 0.97),
        Acceptance::at_least("Jain's index in the minute 10 min after three pods joined, worst seed", jain.1, 0.93),
    ]);
    all
}
