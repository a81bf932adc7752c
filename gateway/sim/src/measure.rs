//! `traffic`: traffic from the command line, and what it measured as JSON.
//!
//! Inputs: arguments; SIGTERM ends it before its time. Outputs: one line of JSON on stdout when everything under way has
//! ended, with `--progress` one a second before that. `cut` and `refused` are disjoint parts of `failed` and `shed`: `cut` =
//! an answer had begun and did not come to its proper end; `refused` = none began. The first failures are told in words.

use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use hedgerow_sim::{
    Latency,
    traffic::{
        Arrivals, ClosedLoop, Failure, OpenLoop, Outcome, RequestKind, RetryRule, Tally, Target,
        TrafficClass, Verdict,
    },
};
use serde_json::{Value, json};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc::UnboundedReceiver,
    time,
};

use crate::print;

/// Failures told in words; the rest is only counted.
const TOLD: usize = 10;

#[derive(Debug, Args)]
pub(crate) struct TrafficArgs {
    /// Address of the gateway or provider, plain HTTP/1.1.
    #[arg(long)]
    target: std::net::SocketAddr,
    /// chat-stream, chat-json, messages-stream or messages-json.
    #[arg(long, default_value = "chat-stream")]
    kind: RequestKind,
    /// Model that is asked for.
    #[arg(long, default_value = "sim-model")]
    model: String,
    /// Requests per second, Poisson.
    #[arg(long, default_value_t = 10.0, conflicts_with = "sessions")]
    rps: f64,
    /// Instead of a rate: so many sessions, each of which asks again when it was answered.
    #[arg(long)]
    sessions: Option<usize>,
    /// Longest pause of a session between an answer and its next request, in milliseconds.
    #[arg(long, default_value_t = 200.0, requires = "sessions")]
    think_ms: f64,
    /// Requests after which a connection is closed. Default: as long as the server keeps it.
    #[arg(long, default_value_t = u32::MAX, hide_default_value = true)]
    requests_per_connection: u32,
    /// HTTP/2 with prior knowledge.
    #[arg(long)]
    h2c: bool,
    /// How long, in seconds. What is under way then is waited for.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Length of the prompts.
    #[arg(long, default_value_t = 200)]
    prompt_bytes: usize,
    /// Client key.
    #[arg(long)]
    api_key: Option<String>,
    /// A header of every request, `name: value`.
    #[arg(long = "header")]
    headers: Vec<String>,
    /// Seed of the arrivals.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the sums so far every second.
    #[arg(long)]
    progress: bool,
}

/// Traffic that runs.
enum Running {
    Open(OpenLoop),
    Closed(ClosedLoop),
}

pub(crate) async fn traffic(args: TrafficArgs) -> anyhow::Result<()> {
    let (running, outcomes) = start(&args)?;
    let adding = tokio::spawn(Sums::add(outcomes, args.progress));
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        () = time::sleep(Duration::from_secs(args.seconds)) => {}
        _ = terminate.recv() => {}
    }
    match running {
        Running::Open(open) => open.stop().await,
        Running::Closed(closed) => closed.stop().await,
    }
    print(&adding.await??.all())
}

fn start(args: &TrafficArgs) -> anyhow::Result<(Running, UnboundedReceiver<Outcome>)> {
    let mut class = TrafficClass::new("traffic", args.kind, &args.model);
    (class.prompt_bytes, class.api_key) = (args.prompt_bytes, args.api_key.clone());
    for header in &args.headers {
        let (name, value) =
            header.split_once(':').with_context(|| format!("`{header}` is not `name: value`"))?;
        class.headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    let target = if args.h2c { Target::h2c(args.target) } else { Target::http1(args.target) };
    let target = target.requests_per_connection(args.requests_per_connection);
    Ok(match args.sessions {
        None => {
            let arrivals = Arrivals::Poisson { rps: args.rps };
            let (open, outcomes) = OpenLoop::start(&target, vec![(class, arrivals)], args.seed);
            (Running::Open(open), outcomes)
        }
        Some(sessions) => {
            let think = Latency::Uniform { min_ms: 0.0, max_ms: args.think_ms };
            let (closed, outcomes) =
                ClosedLoop::start(&target, class, sessions, &think, RetryRule::NONE, args.seed);
            (Running::Closed(closed), outcomes)
        }
    })
}

/// What has ended so far.
struct Sums {
    tally: Tally,
    cut: u64,
    refused: u64,
    failures: Vec<String>,
}

impl Sums {
    /// Adds up until the traffic has ended.
    async fn add(mut outcomes: UnboundedReceiver<Outcome>, progress: bool) -> anyhow::Result<Self> {
        let tally = Tally::new(Duration::from_secs(1));
        let mut sums = Self { tally, cut: 0, refused: 0, failures: Vec::new() };
        let mut second = time::interval(Duration::from_secs(1));
        loop {
            tokio::select! {
                outcome = outcomes.recv() => match outcome {
                    Some(outcome) => sums.take(&outcome),
                    None => return Ok(sums),
                },
                _ = second.tick(), if progress => print(&sums.counts())?,
            }
        }
    }

    fn take(&mut self, outcome: &Outcome) {
        self.tally.record(outcome);
        let said = match outcome.verdict {
            Verdict::Answered => return,
            Verdict::Shed => "shed".to_owned(),
            Verdict::Failed(failure) => format!("{failure:?}"),
        };
        let begun = outcome.status == Some(200);
        let limit = outcome.verdict == Verdict::Failed(Failure::ClientLimit);
        self.cut += u64::from(begun);
        self.refused += u64::from(!begun && !limit);
        if self.failures.len() < TOLD {
            self.failures.push(told(outcome, &said));
        }
    }

    fn counts(&self) -> Value {
        let counts = self.tally.all(None).counts;
        json!({
            "requests": counts.requests, "answered": counts.answered, "shed": counts.shed, "failed": counts.failed,
            "cut": self.cut, "refused": self.refused, "hedged": counts.hedged, "mixed": counts.mixed,
        })
    }

    fn all(&self) -> Value {
        let sum = self.tally.all(None);
        let ms = |share: f64| sum.first_token.at(share).map(|time| time.as_secs_f64() * 1000.0);
        let mut all = self.counts();
        for (name, share) in [("p50Ms", 0.5), ("p95Ms", 0.95), ("p99Ms", 0.99)] {
            all[name] = ms(share).into();
        }
        all["failures"] = self.failures.clone().into();
        all
    }
}

/// One failure, for people.
fn told(outcome: &Outcome, said: &str) -> String {
    let status = outcome.status.map_or_else(|| "no status".to_owned(), |status| status.to_string());
    let mut text = format!(
        "request {} sent at {:.1} s, ended {:.1} s later: {said}, {status}, {} tokens",
        outcome.sequence,
        outcome.sent.as_secs_f64(),
        outcome.end.as_secs_f64(),
        outcome.integrity.tokens,
    );
    for (what, value) in [
        ("error", &outcome.error_type),
        ("cause", &outcome.cause),
        ("route", &outcome.gateway.route),
        ("action", &outcome.gateway.action),
    ] {
        if let Some(value) = value {
            text = format!("{text}, {what} {value}");
        }
    }
    text
}
