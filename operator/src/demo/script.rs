//! The six scenes: when each starts, how its providers behave and how much traffic it gets.
//!
//! Inputs: the length of the whole demo. Outputs: plain values; `stage` carries them out. Times of providers are
//! a tenth of real ones (a median first token of 60 ms where a provider has 600), so that a minute shows what takes ten.
//!
//! Refuses: to look at results. A scene is what it is whatever the gateway does with it.

use std::time::Duration;

use hedgerow_sim::{Latency, OnCancel, Profile, Tokens};
use serde::Serialize;

/// One part of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Scene {
    /// Both regions healthy: the curves are learnt.
    Baseline,
    /// 4 % of the calls take 5 to 10 times as long, in both regions, independently.
    Stragglers,
    /// Region b answers everything, but never before a floor of nine medians.
    SlowRegion,
    /// Batch traffic at 140 % of what its lane can hold.
    Flood,
    /// The model behind the JSON cohort has become slow: its hedge delay was fixed for a faster one, so nearly every call is
    /// past it and hedged.
    Trip,
    /// Healthy again: the guardrail lets the cohort back in through a trial.
    Recovery,
}

impl Scene {
    /// All, in their order.
    pub const ALL: [Self; 6] =
        [Self::Baseline, Self::Stragglers, Self::SlowRegion, Self::Flood, Self::Trip, Self::Recovery];

    /// Name in the JSON output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Stragglers => "stragglers",
            Self::SlowRegion => "slowRegion",
            Self::Flood => "flood",
            Self::Trip => "trip",
            Self::Recovery => "recovery",
        }
    }

    /// What is happening, for the headline.
    pub fn caption(self) -> &'static str {
        match self {
            Self::Baseline => "both regions are healthy",
            Self::Stragglers => "4 % of the calls are 5 to 10 x slower",
            Self::SlowRegion => "region b is slow",
            Self::Flood => "batch floods at 140 %",
            Self::Trip => "chat-json is 8 x slower and far past its fixed delay",
            Self::Recovery => "healthy again",
        }
    }

    /// Share of the whole demo, in percent; all together 100.
    fn share(self) -> u64 {
        match self {
            Self::Baseline => 15,
            Self::Flood => 13,
            Self::Stragglers | Self::Recovery => 18,
            Self::SlowRegion => 16,
            Self::Trip => 20,
        }
    }

    /// Start and end for a demo of `total`.
    pub fn span(self, total: Duration) -> (Duration, Duration) {
        let before: u64 =
            Self::ALL.iter().take_while(|scene| **scene != self).map(|scene| scene.share()).sum();
        let at = |percent: u64| total * u32::try_from(percent).unwrap_or(100) / 100;
        (at(before), at(before + self.share()))
    }
}

/// Providers' median first token.
pub const MEDIAN_MS: f64 = 60.0;
/// Width of its lognormal distribution: near that of measured first tokens, wide enough for a second draw to win a quarter
/// of the races. (With 0.3 a hedge at the 95th percentile wins one in fifty, and the gateway rightly sends none.)
pub const SIGMA: f64 = 0.5;

/// A provider of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// `region-a`.
    A,
    /// `region-b`.
    B,
}

impl Region {
    /// Both.
    pub const ALL: [Self; 2] = [Self::A, Self::B];

    /// Name of the provider and of its route.
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "region-a",
            Self::B => "region-b",
        }
    }
}

/// How `region` behaves in `scene`.
pub fn profile(scene: Scene, region: Region) -> Profile {
    let healthy = Latency::lognormal(MEDIAN_MS, SIGMA);
    let first_token = match (scene, region) {
        (Scene::Stragglers, _) => {
            // A fifth of the stragglers take 5 times as long, the others 10 times.
            let slow = Latency::TwoModes {
                fast: Box::new(healthy.scaled(5.0)),
                slow: Box::new(healthy.scaled(10.0)),
                slow_percent: 80.0,
            };
            Latency::TwoModes { fast: Box::new(healthy), slow: Box::new(slow), slow_percent: 4.0 }
        }
        (Scene::SlowRegion, Region::B) => healthy.with_floor(9.0 * MEDIAN_MS),
        _ => healthy,
    };
    Profile {
        first_token,
        gap: Latency::fixed(2.0),
        output_tokens: Tokens { min: 40, max: 60 },
        on_cancel: OnCancel::Stops,
        ..Profile::default()
    }
}

/// How much of each class of `traffic` arrives, in requests per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Streams of cohort `chat-stream`, lane `interactive`.
    pub stream: f64,
    /// Complete answers of cohort `chat-json`, lane `interactive`, as fast as the provider likes.
    pub json: f64,
    /// The same with prompts that order [`JSON_SLOWDOWN`].
    pub slow_json: f64,
    /// Streams of lane `batch`, in no cohort.
    pub batch: f64,
}

/// Requests per second in `scene`. `batch_capacity` is what the batch lane can serve per second at its limit.
pub fn rates(scene: Scene, batch_capacity: f64) -> Rates {
    let batch = batch_capacity * if scene == Scene::Flood { 1.4 } else { 0.3 };
    let (json, slow_json) = if scene == Scene::Trip { (0.0, SLOW_JSON) } else { (JSON, 0.0) };
    Rates { stream: STREAM, json, slow_json, batch }
}

/// Streams per second.
const STREAM: f64 = 180.0;
/// Complete answers per second.
const JSON: f64 = 10.0;
/// The same while they are slow: more, so that the guardrail has seen enough within seconds.
const SLOW_JSON: f64 = 60.0;

/// Factor on first-token times that the JSON prompts of scene [`Scene::Trip`] order from every provider. Then 99 % of them
/// are past the fixed delay, and a second draw wins three races in ten: often enough for the gateway's own gates to let
/// hedges pass, at a price that only the guardrail sees.
pub const JSON_SLOWDOWN: f64 = 8.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scenes_fill_the_demo_without_gap_or_overlap() {
        let total = Duration::from_mins(1);
        let mut end = Duration::ZERO;
        for scene in Scene::ALL {
            let (from, to) = scene.span(total);
            assert_eq!(from, end, "{scene:?}");
            assert!(to > from, "{scene:?}");
            end = to;
        }
        assert_eq!(end, total);
    }

    #[test]
    fn only_the_scene_that_says_so_is_unhealthy() {
        for region in Region::ALL {
            assert_eq!(profile(Scene::Baseline, region), profile(Scene::Recovery, region));
            assert_ne!(profile(Scene::Baseline, region), profile(Scene::Stragglers, region));
        }
        assert_eq!(profile(Scene::SlowRegion, Region::A), profile(Scene::Baseline, Region::A));
        assert_ne!(profile(Scene::SlowRegion, Region::B), profile(Scene::Baseline, Region::B));
    }
}
