//! A provider: how fast it answers, how that depends on load, what a cancel costs, how it fails.
//!
//! Load: attempts share the provider's capacity. Up to `capacity` in service nobody notices; beyond it every answer takes
//! in-service / capacity times as long (processor sharing, as batching servers do), and beyond `refuses` times the
//! capacity new attempts get 429. A hedge is one more in service: it makes others slower, which is what it costs besides
//! money. The stretch is taken at the start of an attempt.
//!
//! Cancel: input is billed in full, output as far as it was generated. A share of cancels may be ignored: then the attempt
//! stays in service to its end and is billed whole.

use std::{sync::Arc, time::Duration};

use fastrand::Rng;
use hedgerow_policy::ledger::Prices;

use super::chance::{Shape, seconds};

/// What holds at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weather {
    /// Factor on the first token.
    pub slower: f64,
    /// No first token sooner than this, in seconds.
    pub floor: f64,
    /// Probability that an attempt fails with a 5xx.
    pub failing: f64,
    /// Every attempt gets 429 with this `Retry-After` in seconds.
    pub pushback: Option<f64>,
    /// Attempts in service up to which nobody notices; infinite without load.
    pub capacity: f64,
}

impl Weather {
    /// A good day.
    pub const FINE: Self =
        Self { slower: 1.0, floor: 0.0, failing: 0.0, pushback: None, capacity: f64::INFINITY };
}

/// Weather over time: seconds since the start.
pub type Forecast = Arc<dyn Fn(f64) -> Weather + Send + Sync>;

/// A provider as a scenario describes it.
#[derive(Clone)]
pub struct Provider {
    /// Route name.
    pub name: &'static str,
    /// First token.
    pub first_token: Shape,
    /// From the first token to the end.
    pub generation: Shape,
    /// How it changes.
    pub weather: Forecast,
    /// 429 beyond this multiple of the capacity.
    pub refuses: f64,
    /// `Retry-After` of such a 429, in seconds; 0 = none named.
    pub retry_after: f64,
    /// Share of cancels that it ignores.
    pub ignores_cancel: f64,
    /// Declared to bill on after a cancel (`onCancel.billing: Continues`).
    pub continues: bool,
    /// Seconds that reading an uncached prompt adds to the first token.
    pub cold: f64,
    /// Prices.
    pub prices: Prices,
    /// Weight among the routes.
    pub weight: u32,
}

impl Provider {
    /// A provider without load, faults or changes, at 2.50 / 1.25 / 10 USD per million tokens.
    pub fn steady(name: &'static str, first_token: Shape) -> Self {
        Self {
            name,
            first_token,
            generation: Shape::lognormal(4.0, 0.5),
            weather: Arc::new(|_| Weather::FINE),
            refuses: f64::INFINITY,
            retry_after: 0.0,
            ignores_cancel: 0.0,
            continues: false,
            cold: 0.0,
            prices: Prices {
                input: 2_500_000,
                cache_read: 1_250_000,
                cache_write: 2_500_000,
                output: 10_000_000,
            },
            weight: 100,
        }
    }

    /// The same with weather.
    pub fn under(self, weather: impl Fn(f64) -> Weather + Send + Sync + 'static) -> Self {
        Self { weather: Arc::new(weather), ..self }
    }
}

/// What an attempt will come to, if nobody cancels it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// First token and end, from the start of the attempt.
    Tokens {
        /// First token.
        first: Duration,
        /// End.
        end: Duration,
    },
    /// A 5xx.
    Failure {
        /// After this time.
        after: Duration,
    },
    /// A 429.
    Refusal {
        /// `Retry-After` in seconds.
        retry_after: Option<f64>,
    },
}

/// A provider in service.
pub struct Serving {
    /// As described.
    pub model: Provider,
    /// Attempts in service.
    pub in_service: u32,
    /// Most of them at once.
    pub peak: u32,
    /// Attempts received.
    pub attempts: u64,
}

/// Time of a 5xx and of a refusal.
const ERROR_AFTER: f64 = 0.2;

impl Serving {
    /// Nothing in service.
    pub fn new(model: Provider) -> Self {
        Self { model, in_service: 0, peak: 0, attempts: 0 }
    }

    /// An attempt arrives. `base` is a first token drawn for the prompt elsewhere, where legs correlate; `cold` = the
    /// prompt is not in this provider's cache. The caller ends the service.
    pub fn begin(&mut self, at: f64, rng: &mut Rng, base: Option<f64>, cold: bool) -> (Answer, f64) {
        let weather = (self.model.weather)(at);
        self.attempts += 1;
        // The draws come first and always: arms must not shift each other's.
        let (own, generation, fate) =
            (self.model.first_token.draw(rng), self.model.generation.draw(rng), rng.f64());
        let drawn = base.unwrap_or(own);
        if let Some(retry_after) = weather.pushback {
            return (Answer::Refusal { retry_after: Some(retry_after) }, drawn);
        }
        if f64::from(self.in_service) >= weather.capacity * self.model.refuses {
            let named = self.model.retry_after;
            return (Answer::Refusal { retry_after: (named > 0.0).then_some(named) }, drawn);
        }
        self.in_service += 1;
        self.peak = self.peak.max(self.in_service);
        if fate < weather.failing {
            return (Answer::Failure { after: seconds(ERROR_AFTER) }, drawn);
        }
        let stretch = (f64::from(self.in_service) / weather.capacity).max(1.0);
        let reading = if cold { self.model.cold } else { 0.0 };
        let first = ((drawn + reading) * weather.slower).max(weather.floor) * stretch;
        (Answer::Tokens { first: seconds(first), end: seconds(first + generation * stretch) }, drawn)
    }

    /// An attempt leaves the service.
    pub fn end(&mut self) {
        self.in_service = self.in_service.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(answer: Answer) -> f64 {
        match answer {
            Answer::Tokens { first, .. } => first.as_secs_f64(),
            _ => f64::NAN,
        }
    }

    #[test]
    fn everything_in_service_beyond_the_capacity_makes_all_slower() {
        let model = Provider { refuses: 1.5, ..Provider::steady("a", Shape::Fixed(1.0)) }
            .under(|_| Weather { capacity: 2.0, ..Weather::FINE });
        let (mut serving, mut rng) = (Serving::new(model), Rng::with_seed(1));
        let mut begin = || serving.begin(0.0, &mut rng, None, false).0;
        let found = [begin(), begin(), begin()].map(first);
        assert!((found[0] - 1.0).abs() < 1e-9 && (found[1] - 1.0).abs() < 1e-9);
        assert!((found[2] - 1.5).abs() < 1e-9, "3 over 2: {found:?}");
        assert_eq!(begin(), Answer::Refusal { retry_after: None });
        assert_eq!(serving.in_service, 3, "a refused attempt is not in service");
    }

    #[test]
    fn a_floor_and_a_cold_prompt_delay_the_first_token() {
        let slow = Provider { cold: 0.5, ..Provider::steady("a", Shape::Fixed(1.0)) }
            .under(|at| if at < 10.0 { Weather::FINE } else { Weather { floor: 9.0, ..Weather::FINE } });
        let (mut serving, mut rng) = (Serving::new(slow), Rng::with_seed(1));
        assert!((first(serving.begin(0.0, &mut rng, None, true).0) - 1.5).abs() < 1e-9);
        assert!((first(serving.begin(10.0, &mut rng, None, false).0) - 9.0).abs() < 1e-9);
    }
}
