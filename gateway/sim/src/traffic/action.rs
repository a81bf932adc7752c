//! One user action: its tries, as an SDK makes them, and its measurement.

use std::{sync::Arc, time::Duration};

use fastrand::Rng;
use http::HeaderMap;
use tokio::time::Instant;

use super::{
    answer::Reading,
    class::TrafficClass,
    client::Client,
    integrity::Integrity,
    outcome::{Failure, GatewayHeaders, Outcome, Verdict},
    retry::{RetryRule, retry_after},
};
use crate::clock::now;

/// The largest non-streaming answer that is read.
const LARGEST_DOCUMENT: usize = 16 << 20;

/// What all actions of a class share.
#[derive(Debug)]
pub(super) struct Course {
    pub(super) client: Client,
    pub(super) class: TrafficClass,
    pub(super) name: Arc<str>,
    pub(super) retry: RetryRule,
    /// The start of the traffic.
    pub(super) epoch: Instant,
}

/// One try.
#[derive(Debug, Default)]
struct Tried {
    status: Option<u16>,
    headers: HeaderMap,
    first_token: Option<Instant>,
    reading: Reading,
    failure: Option<Failure>,
    cause: Option<String>,
}

impl Course {
    pub(super) fn new(client: Client, class: TrafficClass, retry: RetryRule, epoch: Instant) -> Self {
        Self { client, name: class.name.as_str().into(), class, retry, epoch }
    }

    /// Performs the action number `sequence`, which should start at `intended`.
    pub(super) async fn perform(&self, sequence: u64, intended: Instant, mut rng: Rng) -> Outcome {
        let sent = now();
        let (mut tries, mut sheds, mut asked) = (0, 0, None);
        let mut tried = loop {
            let mut tried = Tried::default();
            let limit = self.class.timeout;
            if tokio::time::timeout(limit, self.attempt(sequence, tries, &mut tried)).await.is_err() {
                tried.failure = Some(Failure::TimedOut);
            }
            asked = retry_after(&tried.headers).or(asked);
            sheds += u32::from(tried.shed());
            let before_headers = tried.status.is_none_or(|status| status >= 400);
            let headers = tried.status.map(|_| &tried.headers);
            let wait = self.retry.wait(tries, tried.status, headers, rng.f64()).filter(|_| before_headers);
            tries += 1;
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => break tried,
            }
        };
        let verdict = tried.verdict();
        Outcome {
            class: Arc::clone(&self.name),
            sequence,
            intended: intended.saturating_duration_since(self.epoch),
            sent: sent.saturating_duration_since(self.epoch),
            first_token: tried.first_token.map(|at| at.saturating_duration_since(intended)),
            end: intended.elapsed(),
            status: tried.status,
            retry_after: asked,
            tries,
            sheds,
            error_type: tried.reading.error.clone(),
            gateway: GatewayHeaders::read(&tried.headers),
            cause: tried.cause.or_else(|| tried.reading.message.take()),
            integrity: tried.reading.integrity(),
            verdict,
        }
        .checked()
    }

    async fn attempt(&self, sequence: u64, retry: u32, tried: &mut Tried) {
        let Ok(request) = self.class.request(sequence, retry) else {
            tried.failure = Some(Failure::Malformed);
            return;
        };
        let mut reply = match self.client.send(request).await {
            Ok(reply) => reply,
            Err(error) => {
                tried.failure = Some(Failure::Connection);
                tried.cause = Some(explained(&error));
                return;
            }
        };
        tried.status = Some(reply.head.status.as_u16());
        tried.headers = std::mem::take(&mut reply.head.headers);
        if !self.class.kind.streams() || !reply.head.status.is_success() {
            match reply.rest(LARGEST_DOCUMENT).await {
                Ok(bytes) => tried.reading.document(&bytes),
                Err(error) => tried.truncated(&error),
            }
            tried.first_token = tried.reading.generated.then(now);
            return;
        }
        loop {
            match reply.chunk().await {
                Ok(Some(bytes)) => tried.reading.stream(&bytes),
                Ok(None) => break,
                Err(error) => {
                    tried.truncated(&error);
                    break;
                }
            }
            if tried.reading.generated && tried.first_token.is_none() {
                tried.first_token = Some(now());
            }
        }
    }
}

impl Tried {
    fn truncated(&mut self, error: &hyper::Error) {
        self.failure = Some(Failure::Truncated);
        self.cause = Some(explained(error));
    }

    fn shed(&self) -> bool {
        self.status == Some(429)
            && retry_after(&self.headers).is_some()
            && self.reading.error.as_deref().is_some_and(|kind| kind.starts_with("gateway_"))
    }

    fn verdict(&self) -> Verdict {
        if self.shed() {
            return Verdict::Shed;
        }
        let failure = match self.status {
            _ if self.failure == Some(Failure::TimedOut) => self.failure,
            Some(status) if status >= 400 => Some(Failure::Status(status)),
            _ if self.reading.error.is_some() => Some(Failure::InBody),
            _ if self.failure.is_some() => self.failure,
            _ if self.reading.malformed => Some(Failure::Malformed),
            _ if !self.reading.complete() => Some(Failure::Truncated),
            _ => None,
        };
        failure.map_or(Verdict::Answered, Verdict::Failed)
    }
}

impl Outcome {
    /// An answer that is not whole and of one attempt is a failure, however complete it looks.
    fn checked(mut self) -> Self {
        if self.verdict == Verdict::Answered && !self.integrity.holds() {
            self.verdict = Verdict::Failed(Failure::Mixed);
        }
        self
    }

    /// An action that the generator could not start.
    pub(super) fn not_started(class: &Arc<str>, sequence: u64, intended: Duration) -> Self {
        Self {
            class: Arc::clone(class),
            sequence,
            intended,
            sent: intended,
            first_token: None,
            end: Duration::ZERO,
            status: None,
            retry_after: None,
            tries: 1,
            sheds: 0,
            error_type: None,
            gateway: GatewayHeaders::default(),
            verdict: Verdict::Failed(Failure::ClientLimit),
            cause: None,
            integrity: Integrity::default(),
        }
    }
}

/// An error with all its causes.
fn explained(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let said = next.to_string();
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        cause = next.source();
    }
    text
}
