//! How the traffic port speaks: plain HTTP, or TLS with which certificate.
//!
//! Inputs: what the configuration asks for and what is mounted. Outputs: what a new connection is answered with, and the
//! report for `/state`. Invariants: a pair that cannot be used changes nothing but the report, so the last good one is
//! served on; a process that has served nothing yet stays closed instead of falling back to plain HTTP; a connection keeps
//! what it began with. Costs: one load for each accepted connection, nothing for a request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use hedgerow_config::{
    route::SecretKey,
    settings::{CERTIFICATE_KEY, PRIVATE_KEY, ServingTls},
    state::CertificateState,
};
use hedgerow_policy::gauge::Gauge;
use rustls::ServerConfig;

use crate::{
    config::{Credentials, Secret, certificate},
    telemetry::metrics::Metrics,
};

/// How new connections are answered.
#[derive(Clone, Debug)]
pub enum Mode {
    /// Not at all: nothing can be served yet.
    Closed,
    /// In plain HTTP.
    Plain,
    /// In TLS.
    Tls(Arc<ServerConfig>),
}

/// How the traffic port speaks.
pub struct Serving {
    mode: ArcSwap<Mode>,
    /// Handshakes that are not over.
    pub handshakes: Gauge,
    metrics: Arc<Metrics>,
    told: Mutex<Told>,
}

/// The mounted chain and key.
type Pair = [Option<Arc<Secret>>; 2];

/// What was last made of what is mounted.
#[derive(Default)]
struct Told {
    /// What was looked at last.
    seen: Option<Pair>,
    /// What is served.
    served: Option<Pair>,
    report: Option<CertificateState>,
}

impl Serving {
    /// Closed.
    pub fn new(metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self {
            mode: ArcSwap::from_pointee(Mode::Closed),
            handshakes: Gauge::default(),
            metrics,
            told: Mutex::default(),
        })
    }

    /// How a connection that begins now is answered.
    pub fn mode(&self) -> Mode {
        Mode::clone(&self.mode.load())
    }

    /// Whether connections are answered at all.
    pub fn open(&self) -> bool {
        !matches!(**self.mode.load(), Mode::Closed)
    }

    /// The certificate, if there should be one.
    pub fn report(&self) -> Option<CertificateState> {
        self.told().report.clone()
    }

    /// A handshake came to nothing.
    pub fn failed(&self) {
        self.metrics.handshakes_failed.inc();
    }

    /// Takes over what is asked for and mounted now; looking again at the same changes nothing.
    pub fn update(&self, wanted: Option<&ServingTls>, credentials: &Credentials, unix_ms: u64) {
        let mut told = self.told();
        let Some(wanted) = wanted else {
            if !matches!(**self.mode.load(), Mode::Plain) {
                self.mode.store(Arc::new(Mode::Plain));
            }
            self.metrics.certificate_unusable.set(0);
            *told = Told::default();
            return;
        };
        let value =
            |key: &str| credentials.get(&SecretKey { name: wanted.secret_name.clone(), key: key.to_owned() });
        let pair = [value(CERTIFICATE_KEY), value(PRIVATE_KEY)];
        let mut report = told.report.take().unwrap_or_default();
        if report.secret == wanted.secret_name && told.seen.as_ref().is_some_and(|seen| same(seen, &pair)) {
            told.report = Some(report);
            return;
        }
        report.secret.clone_from(&wanted.secret_name);
        (report.missing, report.problem) = (Vec::new(), String::new());
        match certificate::read(pair[0].as_deref(), pair[1].as_deref()) {
            // The pair from before a broken one: its sessions go on.
            Ok(_) if told.served.as_ref().is_some_and(|served| same(served, &pair)) => {
                tracing::info!(secret = report.secret, "the certificate that is served is mounted again");
            }
            Ok(good) => {
                tracing::info!(
                    secret = report.secret,
                    certificate = good.fingerprint,
                    "certificate in force"
                );
                self.mode.store(Arc::new(Mode::Tls(good.server)));
                (report.served, report.since_unix_ms) = (good.fingerprint, unix_ms);
                told.served = Some(pair.clone());
            }
            Err(refused) => {
                tracing::error!(
                    secret = report.secret,
                    problem = refused.message,
                    served = report.served,
                    "certificate refused, what was served before is served on"
                );
                (report.missing, report.problem) = (refused.missing, refused.message);
            }
        }
        self.metrics.certificate_unusable.set(i64::from(!report.problem.is_empty()));
        (told.seen, told.report) = (Some(pair), Some(report));
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn same(one: &Pair, other: &Pair) -> bool {
    one.iter().zip(other).all(|(one, other)| {
        one.as_ref().map(|secret| secret.bytes()) == other.as_ref().map(|secret| secret.bytes())
    })
}
