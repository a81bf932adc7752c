//! The demo's traffic: an open loop of three kinds of clients, timed from when each request was due.
//!
//! Inputs: the gateways' address, the seed, the rates of a scene. Outputs: outcomes, one per request. The rates do not
//! depend on how fast answers come, so a slow gateway cannot hide behind waiting clients.

use std::net::SocketAddr;

use hedgerow_sim::{
    Marker,
    traffic::{Arrivals, OpenLoop, Outcome, RequestKind, Target, TrafficClass},
};
use tokio::sync::mpsc::UnboundedReceiver;

use super::script::{JSON_SLOWDOWN, Rates};

/// Public models of the demo's routes.
const STREAM_MODEL: &str = "demo-chat";
const JSON_MODEL: &str = "demo-json";
const BATCH_MODEL: &str = "demo-batch";

/// Length of a complete answer.
const JSON_TOKENS: u32 = 2;

/// Running traffic.
pub(crate) struct Traffic {
    open: OpenLoop,
}

impl Traffic {
    /// Starts with nothing arriving; [`Traffic::set`] opens the tap.
    pub(crate) fn start(gateway: SocketAddr, seed: u64) -> (Self, UnboundedReceiver<Outcome>) {
        let silent = |class| (class, Arrivals::Poisson { rps: 0.0 });
        let json = |name: &str, slowdown| {
            // Short answers: a complete answer can only be raced for as long as it is not mostly generation.
            let order = Marker { slowdown, tokens: Some(JSON_TOKENS), ..Marker::default() };
            TrafficClass {
                order: order.text(),
                ..class(name, RequestKind::ChatJson, JSON_MODEL, "interactive")
            }
        };
        let classes = vec![
            silent(class("chat-stream", RequestKind::ChatStream, STREAM_MODEL, "interactive")),
            silent(json("chat-json", None)),
            silent(json("slow-json", Some(JSON_SLOWDOWN))),
            silent(class("batch", RequestKind::ChatStream, BATCH_MODEL, "batch")),
        ];
        let (open, outcomes) = OpenLoop::start(&Target::http1(gateway), classes, seed);
        (Self { open }, outcomes)
    }

    /// From now on these rates.
    pub(crate) fn set(&self, rates: Rates) {
        let set = |name: &str, rps: f64| self.open.set_arrivals(name, Arrivals::Poisson { rps });
        set("chat-stream", rates.stream);
        set("chat-json", rates.json);
        set("batch", rates.batch);
        set("slow-json", rates.slow_json);
    }

    /// No new arrivals; returns when everything under way has ended.
    pub(crate) async fn stop(self) {
        self.open.stop().await;
    }
}

fn class(name: &str, kind: RequestKind, model: &str, lane: &str) -> TrafficClass {
    TrafficClass {
        headers: vec![("x-lane".into(), lane.into())],
        max_tokens: Some(100),
        prompt_bytes: 80,
        ..TrafficClass::new(name, kind, model)
    }
}
