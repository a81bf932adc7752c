//! Scripted providers: real HTTP servers that behave as a [`Profile`] says.
//!
//! In: a [`ProviderConfig`]. Out: a running [`Provider`] on a real socket (HTTP/1.1 and h2c, or TLS with ALPN),
//! with statistics that tests can await. Every answer names its provider and its own number in every token, so
//! bytes of two answers can never be taken for one. Nothing is logged of prompts, keys or answers.

mod ask;
mod body;
mod control;
mod listener;
mod listing;
mod plan;
mod quota;
mod service;
mod socket;
mod state;
mod stats;
mod tls;
mod turn;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use tokio_rustls::TlsAcceptor;

use self::state::{State, Stop};
pub use self::{
    state::Seen,
    stats::{Cancel, Stats},
    tls::TlsError,
};
use crate::{dialect::Dialect, profile::Profile};

/// What a provider is, apart from its behaviour.
#[derive(Debug, Clone)]
pub struct ProviderConfig {
    /// Name in its tokens and request ids: 1 to 40 letters, digits, `-`, `.` or `_`.
    pub name: String,
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// API family.
    pub dialect: Dialect,
    /// TLS with a throw-away certificate instead of plain text.
    pub tls: bool,
    /// Seed of all its draws.
    pub seed: u64,
    /// Behaviour at the start.
    pub profile: Profile,
    /// Models that it lists; every model is answered.
    pub models: Vec<String>,
    /// The only key it accepts; absent: any or none.
    pub api_key: Option<String>,
    /// How many of the last requests are kept for [`Provider::seen`].
    pub record: usize,
}

impl ProviderConfig {
    /// A plain-text provider on a free loopback port with the default profile.
    pub fn new(name: &str, dialect: Dialect) -> Self {
        Self {
            name: name.to_owned(),
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            dialect,
            tls: false,
            seed: 1,
            profile: Profile::default(),
            models: vec!["sim-model".to_owned()],
            api_key: None,
            record: 0,
        }
    }
}

/// Why a provider cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The name would make its tokens ambiguous.
    #[error("`{0}` cannot be a provider's name: use 1 to 40 letters, digits, `-`, `.` or `_`")]
    Name(String),
    /// The address is taken or not ours.
    #[error("cannot listen on {0}: {1}; choose another address, or port 0 for a free one")]
    Listen(SocketAddr, io::Error),
    /// No certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A condition did not come true in time.
#[derive(Debug, thiserror::Error)]
#[error("waited {waited:?} in vain; the provider stands at {stats:?}")]
pub struct WaitError {
    /// How long it was waited for.
    pub waited: Duration,
    /// The statistics at the end.
    pub stats: Box<Stats>,
}

/// A running provider. Dropping it closes its connections.
#[derive(Debug)]
pub struct Provider {
    addr: SocketAddr,
    ca_pem: Option<String>,
    state: Arc<State>,
    stop: watch::Sender<Stop>,
    listener: JoinHandle<()>,
}

impl Provider {
    /// Starts to listen. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// A bad name, an address that cannot be bound, no certificate.
    pub async fn start(config: ProviderConfig) -> Result<Self, StartError> {
        let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if config.name.is_empty() || config.name.len() > 40 || !config.name.chars().all(letters) {
            return Err(StartError::Name(config.name));
        }
        let identity = config.tls.then(tls::Identity::new).transpose()?;
        let bind = async {
            let listener = TcpListener::bind(config.listen).await?;
            Ok((listener.local_addr()?, listener))
        };
        let (addr, listener) = bind.await.map_err(|error| StartError::Listen(config.listen, error))?;
        let (stop, stopped) = watch::channel(Stop::Not);
        let state = Arc::new(State::new(config, stopped));
        let acceptor = identity.as_ref().map(|identity| TlsAcceptor::from(Arc::clone(&identity.server)));
        let listener = tokio::spawn(listener::run(listener, acceptor, Arc::clone(&state)));
        Ok(Self { addr, ca_pem: identity.map(|identity| identity.ca_pem), state, stop, listener })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// `http://127.0.0.1:PORT`, or `https://localhost:PORT` with TLS.
    pub fn base_url(&self) -> String {
        match self.ca_pem {
            None => format!("http://{}", self.addr),
            Some(_) => format!("https://localhost:{}", self.addr.port()),
        }
    }

    /// The certificate that clients have to trust, PEM; absent in plain text.
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// The present behaviour.
    pub fn profile(&self) -> Arc<Profile> {
        self.state.profile()
    }

    /// Changes the behaviour for the requests that are read from now on.
    pub fn set(&self, profile: Profile) {
        self.state.profile.send_replace(Arc::new(profile));
    }

    /// Changes a part of the behaviour.
    pub fn update(&self, change: impl FnOnce(&mut Profile)) {
        self.state.profile.send_modify(|profile| change(Arc::make_mut(profile)));
    }

    /// The figures now.
    pub fn stats(&self) -> Stats {
        self.state.stats.borrow().clone()
    }

    /// A channel that sees every change of the figures.
    pub fn watch(&self) -> watch::Receiver<Stats> {
        self.state.stats.subscribe()
    }

    /// Waits until the figures satisfy `condition`.
    ///
    /// # Errors
    /// They did not within `timeout`.
    pub async fn wait_for(
        &self,
        condition: impl FnMut(&Stats) -> bool,
        timeout: Duration,
    ) -> Result<Stats, WaitError> {
        let mut figures = self.watch();
        match tokio::time::timeout(timeout, figures.wait_for(condition)).await {
            Ok(Ok(stats)) => Ok(stats.clone()),
            _ => Err(WaitError { waited: timeout, stats: Box::new(self.stats()) }),
        }
    }

    /// The last requests, oldest first; empty unless `record` was set.
    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen()
    }

    /// Zeroes the figures and forgets recorded requests. Requests under way stay counted.
    pub fn reset(&self) {
        self.state.forget();
    }

    /// Closes every connection, and returns when all are closed and the port is free.
    pub async fn shutdown(self) {
        self.end(Stop::Close).await;
    }

    /// Resets every connection at once, as the kernel does for a process that dies by `kill -9`.
    pub async fn kill(self) {
        self.end(Stop::Reset).await;
    }

    async fn end(self, how: Stop) {
        self.stop.send_replace(how);
        // The task never panics by itself; if it did, there is nothing left to wait for.
        let _ = self.listener.await;
    }
}
