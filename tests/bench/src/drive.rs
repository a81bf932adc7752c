//! The driver: requests over HTTP/1.1, as many at once or a second as asked, and what they took.
//!
//! Three ways. *Closed*: each connection asks again as soon as it was answered, which fills a core. *Open* (`--rate`):
//! Poisson arrivals, timed from when each was due, so that a proxy that stalls cannot hide it. *Held* (`--hold`): every
//! connection opens one stream; once all have their first event a line says so, and they stay for `--seconds`.
//!
//! Outputs: one line of JSON. Refuses: more than a minute, addresses that are not loopback.

use std::{
    cell::RefCell,
    io::Write as _,
    net::SocketAddr,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use bytes::Bytes;
use hdrhistogram::Histogram;
use hedgerow_bench::prompt;
use http::{Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::{
    net::TcpStream,
    task::{JoinSet, LocalSet},
    time::{sleep, sleep_until},
};

use crate::clock::now;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address of the proxy.
    #[arg(long)]
    target: SocketAddr,
    /// Connections, each with one request at a time.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// How long, in seconds.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Poisson arrivals a second instead of a closed loop.
    #[arg(long, conflicts_with = "hold")]
    rate: Option<f64>,
    /// Bytes of a request body.
    #[arg(long, default_value_t = 1024)]
    body_bytes: usize,
    /// Code as the prompt instead of prose.
    #[arg(long)]
    code: bool,
    /// Ask for streams of so many events.
    #[arg(long)]
    events: Option<u64>,
    /// Milliseconds between two events.
    #[arg(long, default_value_t = 0)]
    gap_ms: u64,
    /// Open one stream on each connection and keep it.
    #[arg(long, requires = "events")]
    hold: bool,
}

/// Runs as asked and prints the sums.
pub(crate) async fn drive(args: Args) -> anyhow::Result<()> {
    ensure!(args.seconds <= 60.0, "at most a minute");
    ensure!(args.target.ip().is_loopback(), "loopback only");
    let body = Bytes::from(prompt::chat(args.body_bytes, args.code, args.events.is_some()));
    let client = Rc::new(Client { args, body, sums: RefCell::new(Sums::new()?) });
    let begun = now();
    LocalSet::new().run_until(client.clone().run(begun)).await?;
    let sums = client.sums.borrow();
    let us = |share: f64| sums.latency.value_at_quantile(share);
    print(&json!({
        "requests": sums.requests, "failed": sums.failed, "hedged": sums.hedged, "seconds": begun.elapsed().as_secs_f64(),
        "p50Us": us(0.5), "p99Us": us(0.99),
    }))
}

struct Client {
    args: Args,
    body: Bytes,
    sums: RefCell<Sums>,
}

struct Sums {
    requests: u64,
    failed: u64,
    hedged: u64,
    /// Microseconds to the end of the answer.
    latency: Histogram<u64>,
}

impl Sums {
    fn new() -> anyhow::Result<Self> {
        Ok(Self { requests: 0, failed: 0, hedged: 0, latency: Histogram::new_with_max(60_000_000, 3)? })
    }
}

type Sender = http1::SendRequest<Full<Bytes>>;

impl Client {
    async fn run(self: Rc<Self>, begun: Instant) -> anyhow::Result<()> {
        let end = begun + Duration::from_secs_f64(self.args.seconds);
        if self.args.hold {
            return self.hold().await;
        }
        let mut running = JoinSet::new();
        if let Some(rate) = self.args.rate {
            self.open(rate, begun, end).await;
            return Ok(());
        }
        for _ in 0..self.args.connections {
            let client = self.clone();
            running.spawn_local(async move {
                let mut idle = None;
                while now() < end {
                    idle = client.timed(idle, now()).await;
                }
            });
        }
        running.join_all().await;
        Ok(())
    }

    async fn open(self: Rc<Self>, rate: f64, begun: Instant, end: Instant) {
        let (idle, mut running) = (Rc::new(RefCell::new(Vec::new())), JoinSet::new());
        let mut rng = fastrand::Rng::with_seed(1);
        let mut due = begun;
        loop {
            due += Duration::from_secs_f64(-(1.0 - rng.f64()).ln() / rate);
            if due >= end {
                break;
            }
            sleep_until(due.into()).await;
            let (client, idle) = (self.clone(), idle.clone());
            running.spawn_local(async move {
                let kept = idle.borrow_mut().pop();
                let kept = client.timed(kept, due).await;
                idle.borrow_mut().extend(kept);
            });
        }
        running.join_all().await;
    }

    /// One request, counted; the connection if it can be used again.
    async fn timed(&self, idle: Option<Sender>, due: Instant) -> Option<Sender> {
        let asked = self.ask(idle).await;
        let ended = match asked {
            Ok((sender, hedged, body)) => read(body).await.map(|()| (sender, hedged)),
            Err(error) => Err(error),
        };
        let mut sums = self.sums.borrow_mut();
        sums.requests += 1;
        sums.latency.saturating_record(due.elapsed().as_micros() as u64);
        let Ok((sender, hedged)) = ended else {
            sums.failed += 1;
            return None;
        };
        sums.hedged += u64::from(hedged);
        Some(sender)
    }

    /// Sends and waits for a good head; whether it was hedged.
    async fn ask(&self, idle: Option<Sender>) -> anyhow::Result<(Sender, bool, Incoming)> {
        let mut sender = match idle {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        sender.ready().await?;
        let mut request = Request::post("/v1/chat/completions")
            .header(header::HOST, "bench")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, "Bearer sk-bench");
        if let Some(events) = self.args.events {
            request = request.header("x-bench-events", events).header("x-bench-gap-ms", self.args.gap_ms);
        }
        let answer = sender.send_request(request.body(Full::new(self.body.clone()))?).await?;
        ensure!(answer.status() == 200, "answered {}", answer.status());
        let hedged = answer.headers().get("x-hedgerow-hedged").is_some_and(|hedged| hedged == "true");
        Ok((sender, hedged, answer.into_body()))
    }

    async fn connect(&self) -> anyhow::Result<Sender> {
        let socket = TcpStream::connect(self.args.target).await?;
        socket.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn hold(self: Rc<Self>) -> anyhow::Result<()> {
        let mut held = JoinSet::new();
        for _ in 0..self.args.connections {
            let client = self.clone();
            held.spawn_local(async move {
                let (sender, _, mut body) = client.ask(None).await?;
                body.frame().await.transpose()?;
                anyhow::Ok((sender, body))
            });
            // A few at a time: the listen queues are finite.
            if held.len() % 50 == 0 {
                sleep(Duration::from_millis(20)).await;
            }
        }
        let mut streams = Vec::new();
        for stream in held.join_all().await {
            streams.push(stream?);
        }
        print(&json!({ "holding": streams.len() }))?;
        sleep(Duration::from_secs_f64(self.args.seconds)).await;
        Ok(())
    }
}

async fn read(mut body: Incoming) -> anyhow::Result<()> {
    while let Some(frame) = body.frame().await {
        drop(frame?);
    }
    Ok(())
}

fn print(value: &serde_json::Value) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{value}")?;
    Ok(out.flush()?)
}
