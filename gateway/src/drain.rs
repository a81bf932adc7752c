//! How a gateway leaves without losing a request.
//!
//! Inputs: a signal, the end of stdin, and the fleet's drain times. Order: not ready and no new hedges; keep serving
//! until the endpoints are gone (`endpointDelay`), with `Connection: close` in every answer; accept nothing, end kept
//! connections with their running requests (GOAWAY) and idle ones when their clients have let go of them, give up bodies that are still being sent; finish what runs up to `timeout`; cut the rest
//! with an error frame; let the operator fetch the last figures. Invariants: each step has a bound; a second signal goes
//! straight to the cut.

use std::{io::Read as _, sync::Arc, thread, time::Duration};

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::oneshot,
    task::JoinHandle,
};

use crate::{
    admin::Scrapes,
    error::StartError,
    front::closing::{Closing, Phase},
    runtime::Runtime,
};

/// What remains after the cut is a bug or a dead peer: not worth more.
const CUT_WITHIN: Duration = Duration::from_secs(2);
/// The operator scrapes every 5 s; twice that.
const LAST_SCRAPE_WITHIN: Duration = Duration::from_secs(10);

/// How much time the leaving gateway has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// Endpoints have to forget the pod first.
    Endpoints,
    /// Nobody sends new requests, and nobody will scrape: whoever started the process is gone, or it is a test.
    Now,
}

/// The parts that leave.
pub struct Leaving<'a> {
    /// Requests.
    pub runtime: &'a Arc<Runtime>,
    /// Connections.
    pub closing: &'a Closing,
    /// Whether somebody fetches the figures.
    pub scrapes: &'a Scrapes,
    /// The task of the traffic port.
    pub traffic: &'a mut JoinHandle<Result<(), StartError>>,
}

/// Leaves.
pub async fn leave(leaving: Leaving<'_>, haste: Haste) {
    let Leaving { runtime, closing, scrapes, traffic } = leaving;
    let times = runtime.drain_times();
    let serving = runtime.ready();
    runtime.drain();
    tracing::info!(in_flight = runtime.actions_in_flight(), "leaving");
    let patient = async {
        if serving && haste == Haste::Endpoints {
            closing.advance(Phase::Leaving);
            tokio::time::sleep(Duration::from_millis(times.endpoint_delay_ms)).await;
        }
        runtime.close();
        closing.advance(Phase::Closing);
        tokio::time::timeout(Duration::from_millis(times.timeout_ms), &mut *traffic).await.is_ok()
    };
    let finished = tokio::select! {
        finished = patient => finished,
        () = again() => false,
    };
    if !finished {
        tracing::warn!(in_flight = runtime.actions_in_flight(), "cutting what remains");
        runtime.abort();
        closing.advance(Phase::Cut);
        if tokio::time::timeout(CUT_WITHIN, traffic).await.is_err() {
            tracing::warn!(in_flight = runtime.actions_in_flight(), "not all connections ended");
        }
    }
    if haste == Haste::Endpoints && scrapes.made() > 0 {
        tokio::select! {
            () = scrapes.next() => {}
            () = again() => {}
            () = tokio::time::sleep(LAST_SCRAPE_WITHIN) => {}
        }
    }
    tracing::info!("gone");
}

/// Waits for SIGTERM or SIGINT, or with `until_stdin_closes` for the end of stdin.
///
/// # Errors
/// The process may not listen for signals.
pub async fn asked(until_stdin_closes: bool) -> std::io::Result<Haste> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(tokio::select! {
        _ = terminate.recv() => Haste::Endpoints,
        _ = interrupt.recv() => Haste::Endpoints,
        () = stdin_ends(), if until_stdin_closes => Haste::Now,
    })
}

/// Waits for one more signal; for ever if signals cannot be heard.
async fn again() {
    let Ok(_) = asked(false).await else { return std::future::pending().await };
}

/// A thread of its own, because a read of stdin cannot be cancelled and must not keep the runtime from ending.
async fn stdin_ends() {
    let (ended, end) = oneshot::channel();
    let read = move || {
        let mut ignored = [0; 64];
        while matches!(std::io::stdin().read(&mut ignored), Ok(read) if read > 0) {}
        // Nobody listens any more if a signal came first.
        let _ = ended.send(());
    };
    if thread::Builder::new().name("stdin".to_owned()).spawn(read).is_err() || end.await.is_err() {
        tracing::error!("stdin cannot be watched");
        std::future::pending::<()>().await;
    }
}
