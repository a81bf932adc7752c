//! The connections of one route.
//!
//! Inputs: callers that want to send one request. Outputs: a [`Lease`]: one stream of an h2 connection, or an HTTP/1.1
//! connection of its own. Invariants: an h2 connection carries at most min(peer's limit, 64) streams, then another is
//! opened, because a full one queues silently (`data-plane-experiments` E3); an HTTP/1.1 connection returns only after
//! its answer was read to the end, and the last one returned is used first, so that the rest can time out; no lock is
//! held across an await; a dial belongs to the pool, not to the caller, so a cancelled attempt still leaves a warm
//! connection behind; one that takes its HTTP/1.1 connection with it is followed by one spare. Refuses: retries, and queues
//! longer than a dial.
//!
//! Idle time-out 30 s (below the 60 s that common servers and load balancers use), but of h2 connections one stays, because
//! a stream on it costs nothing; every connection retires after 10 min +-20 %, so that DNS changes are followed and a fleet
//! does not reconnect in step. The first h2 connection with room is taken, so that those of a peak fall idle.

use std::{
    collections::VecDeque,
    iter, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use futures_util::future::BoxFuture;
use hyper::client::conn::{http1, http2};
use tokio::{sync::oneshot, time::Instant};

use super::{
    connection::{Body, Connection, Dialer, MAX_STREAMS, Sender},
    error::UpstreamError,
};

const IDLE: Duration = Duration::from_secs(30);
const RETIRE_AFTER: Duration = Duration::from_mins(10);
const SWEEP_EVERY: Duration = Duration::from_secs(1);

type Waiter = oneshot::Sender<Result<Lease, UpstreamError>>;

/// The connections of one route.
pub(super) struct Pool {
    this: Weak<Pool>,
    dialer: Arc<Dialer>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What the upstream spoke last; `None` before the first connection.
    protocol: Option<Protocol>,
    multiplexed: Vec<Multiplexed>,
    /// Most recently used last.
    idle: Vec<Idle>,
    waiting: VecDeque<Waiter>,
    dials: usize,
    /// What the last SETTINGS allowed.
    last_allowed: Option<usize>,
    last_id: u64,
    /// Why the last dial failed, if it did: said once, not for each attempt of an outage.
    problem: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Http1,
    Http2,
}

struct Multiplexed {
    id: u64,
    sender: http2::SendRequest<Body>,
    streams: usize,
    /// What its SETTINGS allow; before them, what the last connection was allowed, or one.
    allowed: usize,
    /// `allowed`, or less for a moment after the peer refused a stream.
    limit: usize,
    /// Whether SETTINGS are still expected, so that more streams will fit soon.
    unsettled: bool,
    used: bool,
    /// When its last stream ended, or it was opened.
    since: Instant,
    retire_at: Instant,
}

struct Idle {
    sender: http1::SendRequest<Body>,
    since: Instant,
    retire_at: Instant,
}

/// The right to send one request.
pub(super) struct Lease {
    pool: Arc<Pool>,
    /// Whether this connection has carried a request before.
    pub kept: bool,
    pub kind: LeaseKind,
}

pub(super) enum LeaseKind {
    Http1 {
        sender: http1::SendRequest<Body>,
        retire_at: Instant,
    },
    Http2 {
        sender: http2::SendRequest<Body>,
        id: u64,
    },
    /// Returned.
    Over,
}

impl Pool {
    /// An empty pool. Must be called inside a runtime: it spawns the task that closes idle and old connections.
    pub(super) fn new(dialer: Dialer) -> Arc<Self> {
        let protocol = dialer.tls.is_none().then_some(Protocol::Http1);
        let state = Mutex::new(State { protocol, ..State::default() });
        let pool = Arc::new_cyclic(|this| Self { this: this.clone(), dialer: Arc::new(dialer), state });
        tokio::spawn(sweep(pool.this.clone()));
        pool
    }

    /// Waits for a connection: a kept one if there is room, else a new one.
    pub(super) async fn lease(&self) -> Result<Lease, UpstreamError> {
        let (sender, ready) = oneshot::channel();
        {
            let mut state = self.lock();
            if let Some(lease) = self.take(&mut state, now()) {
                return Ok(lease);
            }
            state.waiting.push_back(sender);
            self.dial_as_needed(&mut state);
        }
        ready.await.unwrap_or_else(|_| Err(closed()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arc(&self) -> Option<Arc<Self>> {
        self.this.upgrade()
    }

    /// Room on a kept connection.
    fn take(&self, state: &mut State, now: Instant) -> Option<Lease> {
        let pool = self.arc()?;
        state.multiplexed.retain(|c| !c.sender.is_closed() && now < c.retire_at);
        if let Some(connection) = state.multiplexed.iter_mut().find(|c| c.room() > 0) {
            connection.streams += 1;
            let kept = mem::replace(&mut connection.used, true);
            let kind = LeaseKind::Http2 { sender: connection.sender.clone(), id: connection.id };
            return Some(Lease { pool, kept, kind });
        }
        state.idle.retain(|c| !c.sender.is_closed() && now < c.retire_at && now < c.since + IDLE);
        let ready = state.idle.iter().rposition(|c| c.sender.is_ready())?;
        let Idle { sender, retire_at, .. } = state.idle.remove(ready);
        Some(Lease { pool, kept: true, kind: LeaseKind::Http1 { sender, retire_at } })
    }

    /// Hands room to those who wait, first come, first served.
    fn serve(&self, state: &mut State) {
        let now = now();
        while let Some(waiter) = state.next_waiter() {
            let Some(lease) = self.take(state, now) else {
                state.waiting.push_front(waiter);
                break;
            };
            if let Err(Ok(lease)) = waiter.send(Ok(lease)) {
                lease.put_back(state, now);
            }
        }
        self.dial_as_needed(state);
    }

    /// Opens as many connections as those who wait need beyond what is being opened.
    fn dial_as_needed(&self, state: &mut State) {
        state.waiting.retain(|waiter| !waiter.is_closed());
        let per_dial = state.per_connection();
        let soon: usize = state.multiplexed.iter().map(|c| c.soon(per_dial)).sum();
        while state.dials * per_dial + soon < state.waiting.len() {
            self.dial(state);
        }
    }

    fn dial(&self, state: &mut State) {
        state.dials += 1;
        state.last_id += 1;
        tokio::spawn(dial(self.this.clone(), self.dialer.clone(), state.last_id));
    }

    /// A cancel has cost a connection: one is kept ready for the next hedge, which is there to save time.
    fn spare(&self) {
        let mut state = self.lock();
        if state.idle.is_empty() && state.dials == 0 {
            self.dial(&mut state);
        }
    }

    fn admit(&self, id: u64, sender: Sender) {
        let retire_at = now() + RETIRE_AFTER.mul_f64(0.8 + 0.4 * fastrand::f64());
        let mut state = self.lock();
        state.dials -= 1;
        if state.problem.take().is_some() {
            tracing::info!(host = %self.dialer.endpoint.host, "connected again");
        }
        match sender {
            Sender::Http1(sender) => {
                state.protocol = Some(Protocol::Http1);
                self.offer(&mut state, sender, retire_at);
            }
            Sender::Http2(sender) => {
                state.protocol = Some(Protocol::Http2);
                // More than the peer allows would queue inside h2, unseen, so only one goes ahead of the SETTINGS.
                let allowed = state.last_allowed.unwrap_or(1);
                state.multiplexed.push(Multiplexed {
                    id,
                    sender,
                    streams: 0,
                    allowed,
                    limit: allowed,
                    unsettled: true,
                    used: false,
                    since: now(),
                    retire_at,
                });
                self.serve(&mut state);
            }
        }
    }

    /// A fresh HTTP/1.1 connection goes to the first waiter; it is not "kept" for it.
    fn offer(&self, state: &mut State, sender: http1::SendRequest<Body>, retire_at: Instant) {
        let Some(pool) = self.arc() else { return };
        let mut lease = Lease { pool, kept: false, kind: LeaseKind::Http1 { sender, retire_at } };
        while let Some(waiter) = state.next_waiter() {
            let Err(Ok(unused)) = waiter.send(Ok(lease)) else { return };
            lease = unused;
        }
        lease.put_back(state, now());
    }

    fn failed(&self, error: &UpstreamError) {
        let mut state = self.lock();
        state.dials -= 1;
        let problem = error.to_string();
        if state.problem.as_ref() != Some(&problem) {
            tracing::warn!(%problem, "no connection");
            state.problem = Some(problem);
        }
        let hit = state.per_connection();
        state.waiting.retain(|waiter| !waiter.is_closed());
        let hit = hit.min(state.waiting.len());
        for waiter in state.waiting.drain(..hit) {
            // A caller that left in the meantime needs no error.
            let _ = waiter.send(Err(error.clone()));
        }
        self.dial_as_needed(&mut state);
    }

    fn allow(&self, id: u64, streams: usize) {
        let mut state = self.lock();
        state.last_allowed = Some(streams);
        if let Some(connection) = state.multiplexed.iter_mut().find(|c| c.id == id) {
            connection.allowed = streams;
            connection.limit = streams;
            connection.unsettled = false;
        }
        self.serve(&mut state);
    }

    /// The peer refused a stream: no more than it has now until its SETTINGS are known or a moment has passed.
    fn refused(&self, id: u64) {
        let mut state = self.lock();
        if let Some(connection) = state.multiplexed.iter_mut().find(|c| c.id == id) {
            connection.limit = connection.limit.min(connection.streams.saturating_sub(1));
            connection.unsettled = false;
        }
    }

    fn forget(&self, id: u64) {
        let mut state = self.lock();
        state.multiplexed.retain(|c| c.id != id);
        self.serve(&mut state);
    }

    fn end_stream(&self, id: u64) {
        let mut state = self.lock();
        state.end_stream(id, now());
        if !state.waiting.is_empty() {
            self.serve(&mut state);
        }
    }

    fn give_back(&self, sender: http1::SendRequest<Body>, retire_at: Instant) {
        let mut state = self.lock();
        state.idle.push(Idle { sender, since: now(), retire_at });
        if !state.waiting.is_empty() {
            self.serve(&mut state);
        }
    }

    fn sweep(&self) {
        let now = now();
        let mut state = self.lock();
        state.multiplexed.retain(|c| !c.sender.is_closed() && now < c.retire_at);
        let mut place = 0..;
        state.multiplexed.retain(|c| place.next() == Some(0) || c.streams > 0 || now < c.since + IDLE);
        state.idle.retain(|c| !c.sender.is_closed() && now < c.retire_at && now < c.since + IDLE);
        for connection in &mut state.multiplexed {
            // A peer whose SETTINGS say nothing new within a second will not make room by them.
            connection.unsettled = false;
            connection.limit = connection.allowed;
        }
        if !state.waiting.is_empty() {
            self.serve(&mut state);
        }
    }
}

impl State {
    /// The first caller that still waits.
    fn next_waiter(&mut self) -> Option<Waiter> {
        iter::from_fn(|| self.waiting.pop_front()).find(|waiter| !waiter.is_closed())
    }

    /// One stream of an h2 connection has ended.
    fn end_stream(&mut self, id: u64, now: Instant) {
        if let Some(connection) = self.multiplexed.iter_mut().find(|c| c.id == id) {
            connection.streams -= 1;
            if connection.streams == 0 {
                connection.since = now;
            }
        }
    }

    /// Requests that one more connection will carry, as far as is known.
    fn per_connection(&self) -> usize {
        match self.protocol {
            Some(Protocol::Http1) => 1,
            Some(Protocol::Http2) | None => self.last_allowed.unwrap_or(MAX_STREAMS).clamp(1, MAX_STREAMS),
        }
    }
}

impl Multiplexed {
    fn room(&self) -> usize {
        self.limit.min(MAX_STREAMS).saturating_sub(self.streams)
    }

    /// Streams that will fit as soon as the peer has sent its SETTINGS, if they say what they said before.
    fn soon(&self, per_connection: usize) -> usize {
        if self.unsettled { per_connection.saturating_sub(self.streams) } else { 0 }
    }
}

impl Lease {
    /// Whether the connection carries nothing else. A fresh one of that kind cannot be stale.
    pub(super) fn exclusive(&self) -> bool {
        matches!(self.kind, LeaseKind::Http1 { .. })
    }

    /// The answer was read to the end.
    pub(super) fn finish(mut self) {
        match mem::replace(&mut self.kind, LeaseKind::Over) {
            LeaseKind::Http1 { sender, retire_at } if !sender.is_closed() && now() < retire_at => {
                self.pool.give_back(sender, retire_at);
            }
            LeaseKind::Http2 { id, .. } => self.pool.end_stream(id),
            LeaseKind::Http1 { .. } | LeaseKind::Over => {}
        }
    }

    /// The peer closed the connection or refused the stream before it read the request: the next lease must not lead
    /// to the same. Idle HTTP/1.1 connections have been idle for longer than this one and go with it.
    pub(super) fn turned_out_stale(self) {
        match self.kind {
            LeaseKind::Http2 { id, .. } => self.pool.refused(id),
            LeaseKind::Http1 { .. } | LeaseKind::Over => {
                let dead = mem::take(&mut self.pool.lock().idle);
                drop(dead);
            }
        }
    }

    /// Never used; for callers that hold the lock.
    fn put_back(mut self, state: &mut State, now: Instant) {
        match mem::replace(&mut self.kind, LeaseKind::Over) {
            LeaseKind::Http1 { sender, retire_at } => state.idle.push(Idle { sender, since: now, retire_at }),
            LeaseKind::Http2 { id, .. } => state.end_stream(id, now),
            LeaseKind::Over => {}
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        match &self.kind {
            LeaseKind::Http2 { id, .. } => self.pool.end_stream(*id),
            // Without its sender the connection closes, which is how a cancel reaches the peer.
            LeaseKind::Http1 { sender, .. } if !sender.is_closed() => self.pool.spare(),
            LeaseKind::Http1 { .. } | LeaseKind::Over => {}
        }
    }
}

/// Opens a connection and hands it to the pool. A task that ends with that, because its state is several times the size
/// of what drives the connection afterwards.
async fn dial(pool: Weak<Pool>, dialer: Arc<Dialer>, id: u64) {
    let observer = pool.clone();
    let streams = move |allowed| {
        if let Some(pool) = observer.upgrade() {
            pool.allow(id, allowed);
        }
    };
    let connected = dialer.connect(streams).await;
    let Some(owner) = pool.upgrade() else { return };
    match connected {
        Ok(Connection { sender, driver }) => {
            owner.admit(id, sender);
            tokio::spawn(drive(pool, id, driver));
        }
        Err(error) => owner.failed(&error),
    }
}

/// The one task of a connection.
async fn drive(pool: Weak<Pool>, id: u64, driver: BoxFuture<'static, ()>) {
    driver.await;
    if let Some(owner) = pool.upgrade() {
        owner.forget(id);
    }
}

async fn sweep(pool: Weak<Pool>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        let Some(pool) = pool.upgrade() else { return };
        pool.sweep();
    }
}

fn closed() -> UpstreamError {
    UpstreamError::Closed { message: Arc::from("the route was removed") }
}

#[expect(clippy::disallowed_methods, reason = "connections age by the runtime's clock")]
fn now() -> Instant {
    Instant::now()
}
