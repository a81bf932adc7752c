//! What the demo promises and whether it held: each promise with its limit and the measured value.
//!
//! Inputs: the [`Summary`]. Outputs: [`Promise`]s in a fixed order. The limits are those of the product's specification
//! for this demo; they are not tuned to the result, and a promise without a value does not hold.

use super::{
    script::{MEDIAN_MS, Scene},
    story::Summary,
};

/// One promise.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    /// In words.
    pub what: String,
    /// What was measured, in words.
    pub value: String,
    /// Whether it held.
    pub holds: bool,
}

/// A guardrail must act within this of the breach, in seconds.
const TRIP_SECONDS: f64 = 20.0;

/// All promises.
pub fn promises(summary: &Summary) -> Vec<Promise> {
    let mut all = vec![
        Promise {
            what: "no request fails".into(),
            value: format!("{} of {} failed", summary.failed, summary.requests),
            holds: summary.failed == 0 && summary.requests > 0,
        },
        tail(summary),
        median(summary),
        bounded(summary, "duplicates at most 8 % in every scene but trip", 8.0, |scene| {
            scene.duplicate_percent
        }),
        bounded(summary, "spend on lost races at most 1.5 % in every scene but trip", 1.5, |scene| {
            scene.lost_race_percent
        }),
        lanes(summary),
    ];
    all.extend(guardrail(summary));
    let leaks = summary.leaks;
    all.push(Promise {
        what: "nothing is leaked".into(),
        value: format!("{} permits, {} attempts, {} budget", leaks.permits, leaks.attempts, leaks.budget),
        holds: leaks == super::story::Leaks::default(),
    });
    all
}

/// Measured median of the healthy scene, as a multiple of the scripted one, from which this machine and not the product is
/// what was measured. Healthy runs stay below 1.2.
const BUSY: f64 = 1.5;

/// A sentence where the machine was too busy for the figures to say anything.
pub fn busy(summary: &Summary) -> Option<String> {
    let measured = summary.scene(Scene::Baseline)?.p50_ms.filter(|ms| *ms > BUSY * MEDIAN_MS)?;
    Some(format!(
        "this machine was too busy for a verdict: with healthy providers that take {MEDIAN_MS:.0} ms the median was {measured:.0} ms; \
         end other work and run the demo again"
    ))
}

fn tail(summary: &Summary) -> Promise {
    let scene = summary.scene(Scene::Stragglers);
    let pair = scene.and_then(|scene| Some((scene.p99_ms?, scene.p99_unhedged_ms?)));
    Promise {
        what: "stragglers: p99 first token at most half of what it would be without hedging".into(),
        value: pair.map_or_else(
            || "not measured".into(),
            |(with, without)| format!("{with:.0} ms against {without:.0} ms"),
        ),
        holds: pair.is_some_and(|(with, without)| with <= 0.5 * without),
    }
}

fn median(summary: &Summary) -> Promise {
    let scene = summary.scene(Scene::Stragglers);
    let pair = scene.and_then(|scene| Some((scene.p50_ms?, scene.p50_unhedged_ms?)));
    Promise {
        what: "stragglers: the median moves by at most 3 %".into(),
        value: pair.map_or_else(
            || "not measured".into(),
            |(with, without)| format!("{with:.1} ms against {without:.1} ms"),
        ),
        holds: pair.is_some_and(|(with, without)| (with - without).abs() <= 0.03 * without),
    }
}

fn bounded(
    summary: &Summary,
    what: &str,
    limit: f64,
    figure: fn(&super::story::SceneSummary) -> f64,
) -> Promise {
    let worst = summary
        .scenes
        .iter()
        .filter(|scene| scene.name != Scene::Trip.name())
        .map(|scene| (figure(scene), scene.name))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    Promise {
        what: what.into(),
        value: worst.map_or_else(
            || "not measured".into(),
            |(value, name)| format!("at most {value:.1} %, in {name}"),
        ),
        holds: worst.is_some_and(|(value, _)| value <= limit),
    }
}

fn lanes(summary: &Summary) -> Promise {
    let shed = |lane: &str| summary.shed.get(lane).copied().unwrap_or(0);
    let (interactive, batch) = (shed("interactive"), shed("batch"));
    Promise {
        what: "under a flood only batch is refused, with Retry-After".into(),
        value: format!("interactive {interactive}, batch {batch}"),
        holds: interactive == 0 && batch > 0,
    }
}

fn guardrail(summary: &Summary) -> [Promise; 2] {
    let trip = summary.guardrail.as_ref();
    let took = trip.and_then(|trip| Some(trip.tripped_at - trip.breached_at?));
    let recovered = trip.and_then(|trip| trip.recovered_at);
    [
        Promise {
            what: "the guardrail switches the cohort off within 20 s of the breach".into(),
            value: trip.map_or_else(
                || "no trip".into(),
                |trip| {
                    format!(
                        "{} after {:.1} s: {} at {:.1} %",
                        trip.cohort,
                        took.unwrap_or(f64::NAN),
                        trip.signal,
                        trip.value.unwrap_or(f64::NAN)
                    )
                },
            ),
            holds: took.is_some_and(|seconds| (0.0..=TRIP_SECONDS).contains(&seconds)),
        },
        Promise {
            what: "and lets it back in through a trial".into(),
            value: recovered.map_or_else(|| "not back".into(), |at| format!("back at {at:.0} s")),
            holds: recovered.is_some(),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::story::{SceneSummary, Trip};

    fn good() -> Summary {
        let scene = |scene: Scene| SceneSummary {
            name: scene.name(),
            p50_ms: Some(60.0),
            p50_unhedged_ms: Some(61.0),
            p99_ms: Some(200.0),
            p99_unhedged_ms: Some(560.0),
            duplicate_percent: if scene == Scene::Trip { 17.0 } else { 5.0 },
            ..SceneSummary::default()
        };
        Summary {
            requests: 10,
            scenes: Scene::ALL.into_iter().map(scene).collect(),
            shed: [("batch".to_owned(), 3)].into(),
            guardrail: Some(Trip {
                breached_at: Some(40.0),
                tripped_at: 44.0,
                recovered_at: Some(55.0),
                ..Trip::default()
            }),
            ..Summary::default()
        }
    }

    #[test]
    fn a_good_run_holds_every_promise() {
        let broken: Vec<_> = promises(&good()).into_iter().filter(|promise| !promise.holds).collect();
        assert!(broken.is_empty(), "{broken:?}");
    }

    #[test]
    fn a_machine_that_is_too_busy_is_told_apart_from_a_broken_promise() {
        assert_eq!(busy(&good()), None);
        let mut slow = good();
        slow.scenes[0].p50_ms = Some(140.0);
        let said = busy(&slow).unwrap();
        assert!(said.contains("too busy") && said.contains("140 ms"), "{said}");
        assert_eq!(busy(&Summary::default()), None, "nothing measured says nothing");
    }

    type Spoil = (&'static str, fn(&mut Summary));

    #[test]
    fn each_promise_can_break() {
        let breaks: [Spoil; 9] = [
            ("fails", |summary| summary.failed = 1),
            ("p99", |summary| summary.scenes[1].p99_ms = Some(281.0)),
            ("median", |summary| summary.scenes[1].p50_ms = Some(63.0)),
            ("duplicates", |summary| summary.scenes[2].duplicate_percent = 8.1),
            ("lost races", |summary| summary.scenes[2].lost_race_percent = 1.6),
            ("batch", |summary| {
                summary.shed = [("interactive".to_owned(), 1), ("batch".to_owned(), 1)].into();
            }),
            ("20 s", |summary| summary.guardrail.as_mut().unwrap().tripped_at = 61.0),
            ("trial", |summary| summary.guardrail.as_mut().unwrap().recovered_at = None),
            ("leaked", |summary| summary.leaks.permits = 1),
        ];
        for (word, spoil) in breaks {
            let mut summary = good();
            spoil(&mut summary);
            let broken: Vec<_> = promises(&summary).into_iter().filter(|promise| !promise.holds).collect();
            assert_eq!(broken.len(), 1, "{word}: {broken:?}");
            assert!(broken[0].what.contains(word), "{word}: {broken:?}");
        }
    }

    #[test]
    fn nothing_measured_holds_nothing_but_the_zeroes() {
        let held = promises(&Summary::default()).into_iter().filter(|promise| promise.holds).count();
        assert_eq!(held, 1, "only the leaks");
    }
}
