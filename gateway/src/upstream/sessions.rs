//! TLS sessions that later connections resume.
//!
//! Why: an HTTP/1.1 attempt that is cancelled takes its connection along, so hedging makes connections at the rate of its
//! cancels, and a resumed handshake checks no certificate and no signature. rustls's own memory keeps eight TLS 1.3 tickets
//! per server, each good for one connection (RFC 8446, C.4), and a burst of cancels needs more at once.
//!
//! Inputs: what rustls notes. Outputs: what it asks for, newest first as far as that is known. Invariant: at most [`SHELVES`]
//! times eight tickets per server and [`SERVERS`] servers; a ticket is about 5 KB with the chain that came with it.

use std::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering},
};

use rustls::{
    NamedGroup,
    client::{
        ClientSessionMemoryCache, ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue,
    },
    pki_types::ServerName,
};

/// Tickets per server over eight. A power of two: the count of tickets may wrap.
const SHELVES: usize = 4;
/// Servers that are remembered, as many as rustls does.
const SERVERS: usize = 32;
/// What rustls's memory takes for one server.
const TICKETS: usize = 8;

/// Several of rustls's memories; the first also keeps what there is one of per server.
pub(super) struct Sessions {
    shelves: [ClientSessionMemoryCache; SHELVES],
    /// Tickets so far: they go to the shelves in turn.
    noted: AtomicUsize,
}

impl Sessions {
    pub(super) fn new() -> Self {
        let shelves = std::array::from_fn(|_| ClientSessionMemoryCache::new(SERVERS * TICKETS));
        Self { shelves, noted: AtomicUsize::new(0) }
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, server: ServerName<'static>, group: NamedGroup) {
        self.shelves[0].set_kx_hint(server, group);
    }

    fn kx_hint(&self, server: &ServerName<'_>) -> Option<NamedGroup> {
        self.shelves[0].kx_hint(server)
    }

    fn set_tls12_session(&self, server: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.shelves[0].set_tls12_session(server, session);
    }

    fn tls12_session(&self, server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.shelves[0].tls12_session(server)
    }

    fn remove_tls12_session(&self, server: &ServerName<'static>) {
        self.shelves[0].remove_tls12_session(server);
    }

    fn insert_tls13_ticket(&self, server: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let shelf = self.noted.fetch_add(1, Ordering::Relaxed) % SHELVES;
        self.shelves[shelf].insert_tls13_ticket(server, ticket);
    }

    fn take_tls13_ticket(&self, server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let next = self.noted.load(Ordering::Relaxed) % SHELVES;
        (1..=SHELVES)
            .find_map(|back| self.shelves[(next + SHELVES - back) % SHELVES].take_tls13_ticket(server))
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Sessions").finish_non_exhaustive()
    }
}
