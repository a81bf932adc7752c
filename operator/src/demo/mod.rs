//! `hedgerow demo`: the product in about a minute, on this machine, over real sockets.
//!
//! Scripted providers, real gateway processes and the controller that `hedgerow standalone` runs, on the files of
//! `crds/examples/demo/`; six scenes of traffic; then a verdict, an HTML report and, if asked, one JSON object.
//!
//! Inputs: [`Args`]. Outputs: live screen on stderr, verdict, report file, JSON on stdout. Invariants: the same decisions
//! as in production, only times are a tenth and windows are short; every figure is measured in this run. It refuses to
//! repeat a scene until it succeeds: a promise that did not hold is printed as such, and the exit status says so.

mod files;
mod recorder;
pub mod report;
mod screen;
pub mod script;
mod stage;
pub mod story;
mod traffic;
pub mod verdict;

use std::{
    io::Write as _,
    net::SocketAddr,
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::Context as _;
use hedgerow_sim::traffic::Outcome;
use tokio::{
    sync::mpsc::UnboundedReceiver,
    time::{Instant, sleep_until, timeout},
};

use self::{
    recorder::{FLEET, Recorder},
    screen::{Frame, Screen},
    script::Scene,
    stage::Stage,
    story::Story,
    traffic::Traffic,
};

/// Longest extension of the trip's scene while the guardrail has not acted, and of the last one while a cohort is not back.
const EXTENSION: Duration = Duration::from_secs(15);
/// Bound on everything being given back after the last answer.
const SETTLE: Duration = Duration::from_secs(10);
/// Mean time that a batch request holds its slot: median first token, and 50 tokens 2 ms apart.
const BATCH_SECONDS: f64 = (script::MEDIAN_MS + 100.0) / 1000.0;

/// Arguments of `hedgerow demo`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Length in seconds; guardrail windows are fixed, so below 45 the last scenes cannot finish.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(45..=3600))]
    pub seconds: u64,
    /// Seed of providers and traffic.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// One JSON object on stdout at the end.
    #[arg(long)]
    pub json: bool,
    /// Where the gateways listen; without it 127.0.0.1:8080, or any free port if that is taken.
    #[arg(long)]
    pub listen: Option<SocketAddr>,
    /// Where the HTML report goes. Default: target/ of a Cargo checkout, else the directory for temporary files.
    #[arg(long)]
    pub report: Option<PathBuf>,
}

/// Runs the demo; true = every promise held.
pub async fn run(args: Args) -> anyhow::Result<bool> {
    let report = args.report.clone().unwrap_or_else(default_report);
    let mut screen = Screen::new();
    screen::say(
        "Hedgerow demo: everything on loopback, provider times a tenth of real ones, guardrail windows of 10 s and 30 s.",
    );
    let stage = Stage::start(stage::address(args.listen), args.seed).await?;
    screen.begin(&stage.running.base_url(FLEET).unwrap_or_default());
    let played = play(&stage, &args, &mut screen, &report).await;
    let ended = stage.end().await;
    let story = played?;
    ended?;
    std::fs::write(&report, report::html(&story, &files::limits()?))
        .with_context(|| format!("{} could not be written", report.display()))?;
    let held = conclude(&story);
    if args.json {
        let mut out = std::io::stdout().lock();
        serde_json::to_writer(&mut out, &story.summary)?;
        writeln!(out)?;
    }
    Ok(held)
}

async fn play(
    stage: &Stage,
    args: &Args,
    screen: &mut Screen,
    report: &std::path::Path,
) -> anyhow::Result<Story> {
    let base_url = stage.running.base_url(FLEET).context("the fleet has no address")?;
    let gateway: SocketAddr =
        base_url.trim_start_matches("http://").parse().context("the fleet's address is not an address")?;
    let (traffic, mut outcomes) = Traffic::start(gateway, args.seed);
    let mut views = stage.running.views();
    let clock = Clock::start();
    let mut recorder = Recorder::new(args.seed, base_url.clone(), clock.started_unix_ms);
    let total = Duration::from_secs(args.seconds);
    let capacity = files::batch_slots()? * f64::from(stage::GATEWAYS) / BATCH_SECONDS;
    let mut act: Option<Scene> = None;
    loop {
        let at = clock.elapsed();
        let next = due(at, total, act, &recorder);
        let Some(scene) = next else { break };
        if act != Some(scene) {
            recorder.begin(scene, at, &views.borrow_and_update());
            stage.set(scene);
            traffic.set(script::rates(scene, capacity));
            act = Some(scene);
        }
        tokio::select! {
            changed = views.changed() => {
                changed.context("the controller ended")?;
                let view = views.borrow_and_update().clone();
                recorder.view(&view);
                let (requests, failed, shed) = recorder.counted();
                let frame = Frame { seed: args.seed, at, total, scene, base_url: &base_url, requests, failed, shed: &shed, view: &view };
                screen.show(&frame);
            }
            outcome = outcomes.recv() => recorder.outcome(&outcome.context("the traffic ended")?),
            () = sleep_until(clock.moment(next_change(at, total))) => {}
            interrupted = tokio::signal::ctrl_c() => {
                interrupted.context("no signal handler")?;
                anyhow::bail!("interrupted");
            }
        }
    }
    settle(stage, traffic, &mut outcomes, &mut recorder).await?;
    let view = stage.running.view();
    recorder.view(&view);
    Ok(recorder.finish(&view, report.display().to_string()))
}

/// The scene that is due at `at`; none = the end.
fn due(at: Duration, total: Duration, act: Option<Scene>, recorder: &Recorder) -> Option<Scene> {
    let by_clock = Scene::ALL.into_iter().rev().find(|scene| scene.span(total).0 <= at)?;
    let (_, trip_ends) = Scene::Trip.span(total);
    match (act, by_clock) {
        // One trip is enough; a longer scene would only show trials that fail.
        (Some(Scene::Trip), _) if recorder.tripped() => Some(Scene::Recovery),
        (Some(Scene::Trip), _) if at < trip_ends + EXTENSION => Some(Scene::Trip),
        (Some(Scene::Recovery), _) if at < total => Some(Scene::Recovery),
        (Some(Scene::Recovery), _) if !recorder.recovered() && at < total + 2 * EXTENSION => {
            Some(Scene::Recovery)
        }
        (Some(Scene::Recovery), _) => None,
        _ => Some(by_clock),
    }
}

fn next_change(at: Duration, total: Duration) -> Duration {
    let starts = Scene::ALL.into_iter().map(|scene| scene.span(total).0);
    starts.chain([total]).find(|start| *start > at).unwrap_or(at + Duration::from_secs(1))
}

/// Waits for the last answers and until the gateways have given everything back.
async fn settle(
    stage: &Stage,
    traffic: Traffic,
    outcomes: &mut UnboundedReceiver<Outcome>,
    recorder: &mut Recorder,
) -> anyhow::Result<()> {
    traffic.stop().await;
    while let Some(outcome) = outcomes.recv().await {
        recorder.outcome(&outcome);
    }
    let mut views = stage.running.views();
    let quiet = async {
        loop {
            views.changed().await?;
            let view = views.borrow_and_update().clone();
            let still = view
                .fleet(FLEET)
                .is_none_or(|fleet| fleet.leaks != hedgerow_config::state::InFlight::default());
            if !still {
                return anyhow::Ok(());
            }
        }
    };
    // What is still held when the bound is over is in the last view, and so in the verdict.
    timeout(SETTLE, quiet).await.unwrap_or(Ok(()))
}

fn conclude(story: &Story) -> bool {
    let promises = verdict::promises(&story.summary);
    screen::say("");
    for promise in &promises {
        screen::say(&format!(
            "{}  {}: {}",
            if promise.holds { "held    " } else { "NOT HELD" },
            promise.what,
            promise.value
        ));
    }
    if let Some(busy) = verdict::busy(&story.summary) {
        screen::say(&busy);
    }
    screen::say(&format!("report: {}", story.summary.report));
    promises.iter().all(|promise| promise.holds)
}

/// The build directory of a checkout, which its Git ignores, else the directory for temporary files: a demo leaves nothing
/// that somebody could commit.
fn default_report() -> PathBuf {
    let target = PathBuf::from("target");
    // Cargo marks its build directories so.
    let directory = if target.join("CACHEDIR.TAG").is_file() { target } else { std::env::temp_dir() };
    directory.join("hedgerow-demo.html")
}

/// The demo's own clock, started with the traffic.
struct Clock {
    started: Instant,
    started_unix_ms: u64,
}

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the shell of the demo reads the clock once and hands it on"
    )]
    fn start() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), started_unix_ms: u64::try_from(unix.as_millis()).unwrap_or(0) }
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn moment(&self, at: Duration) -> Instant {
        self.started + at
    }
}
