//! Why an attempt failed, and which of several failures the client is told.
//!
//! Order of telling: by scope (group, contract, quota, pushback, route, transient), at equal scope the first attempt's
//! own status and body. What a provider said is passed on as it said it, when it is JSON.

use std::{borrow::Cow, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, StatusCode, response};

use crate::{
    settle::record::Outcome,
    upstream::UpstreamError,
    wire::{
        answer::Kind,
        dialect::Dialect,
        error_body::ErrorBody,
        error_table::{self, Retry, Scope},
        retry_after,
    },
};

/// Why one attempt failed.
#[derive(Debug)]
pub struct Failure {
    /// Whose fault.
    pub scope: Scope,
    /// What may be tried.
    pub retry: Retry,
    /// For records and metrics.
    pub outcome: Outcome,
    /// What the client would be told.
    pub told: Told,
    /// How long the provider asks to wait.
    pub wait: Option<Duration>,
    /// The provider has certainly not started to work on it.
    pub nothing_ran: bool,
    /// The provider cannot have billed it.
    pub free: bool,
    /// Number of the attempt; 0 = no attempt was made.
    pub attempt: u8,
    /// Its route.
    pub route: String,
}

/// What the client is told.
#[derive(Debug)]
pub enum Told {
    /// The provider's own words.
    Provider {
        /// Status.
        status: StatusCode,
        /// Its headers.
        headers: Box<HeaderMap>,
        /// JSON.
        body: Bytes,
    },
    /// Ours.
    Gateway {
        /// Kind.
        kind: Kind,
        /// Status, when it differs from the kind's own.
        status: Option<StatusCode>,
        /// What happened and what to do.
        message: Cow<'static, str>,
        /// Short reason for the body.
        reason: &'static str,
    },
}

impl Failure {
    /// A failure that we made up ourselves.
    pub fn gateway(
        kind: Kind,
        scope: Scope,
        outcome: Outcome,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            scope,
            retry: Retry::No,
            outcome,
            told: Told::Gateway { kind, status: None, message: message.into(), reason: "" },
            wait: None,
            nothing_ran: false,
            free: true,
            attempt: 0,
            route: String::new(),
        }
    }

    /// The same with a short reason for the body, where the words are ours.
    pub fn because(mut self, short: &'static str) -> Self {
        if let Told::Gateway { reason, .. } = &mut self.told {
            *reason = short;
        }
        self
    }

    /// The connection failed.
    pub fn transport(error: &UpstreamError) -> Self {
        let sent = error.sent();
        Self {
            retry: Retry::Any,
            nothing_ran: !sent,
            free: !sent,
            ..Self::gateway(
                Kind::UpstreamFailed,
                Scope::Transient,
                Outcome::Failed,
                format!("the provider's connection failed ({}): try again", error.as_str()),
            )
        }
    }

    /// The answer is not what the dialect promises.
    pub fn contract(why: impl Into<Cow<'static, str>>) -> Self {
        Self {
            retry: Retry::Any,
            free: false,
            ..Self::gateway(Kind::UpstreamFailed, Scope::Contract, Outcome::Invalid, why)
        }
    }

    /// No first token in time.
    pub fn timed_out() -> Self {
        Self {
            retry: Retry::OtherRoute,
            free: false,
            ..Self::gateway(
                Kind::UpstreamFailed,
                Scope::Transient,
                Outcome::TimedOut,
                "the provider sent no first token in time: try again",
            )
        }
    }

    /// The provider answered with an error: an error status, a 200 with an error body, or an error frame of a stream.
    pub fn answered(
        dialect: Dialect,
        head: &response::Parts,
        body: &Bytes,
        now: std::time::SystemTime,
    ) -> Self {
        let error =
            if head.status.is_success() { ErrorBody::in_success(body) } else { ErrorBody::parse(body) };
        let verdict = error_table::classify(dialect, head.status.as_u16(), error.as_ref(), &head.headers);
        let status = client_status(head.status, error.as_ref(), verdict.scope);
        let told = if error.is_some() {
            Told::Provider { status, headers: Box::new(head.headers.clone()), body: body.clone() }
        } else {
            Told::Gateway {
                kind: Kind::UpstreamFailed,
                status: Some(status),
                message: Cow::Owned(format!(
                    "the provider answered {} without a readable body",
                    head.status.as_u16()
                )),
                reason: "",
            }
        };
        let outcome = match verdict.scope {
            Scope::Pushback | Scope::Quota => Outcome::Throttled,
            Scope::Contract => Outcome::Invalid,
            _ => Outcome::Failed,
        };
        let refused =
            head.status.is_client_error() || matches!(verdict.scope, Scope::Pushback | Scope::Quota);
        Self {
            scope: verdict.scope,
            retry: verdict.retry,
            outcome,
            told,
            wait: retry_after::hint(&head.headers, error.as_ref(), now),
            nothing_ran: refused,
            free: !head.status.is_success() || refused,
            attempt: 0,
            route: String::new(),
        }
    }

    /// The provider's status, if it answered.
    pub fn upstream_status(&self) -> Option<StatusCode> {
        match &self.told {
            Told::Provider { status, .. } => Some(*status),
            Told::Gateway { status, .. } => *status,
        }
    }

    /// Whether `self` tells the client more than `other`.
    pub fn tells_more_than(&self, other: &Self) -> bool {
        (self.scope, self.attempt) < (other.scope, other.attempt)
    }
}

/// The status that the client sees: an error under 200 gets the status that its body or its scope stands for.
fn client_status(found: StatusCode, error: Option<&ErrorBody>, scope: Scope) -> StatusCode {
    if !found.is_success() && !found.is_informational() && !found.is_redirection() {
        return found;
    }
    let said = error.and_then(|error| error.status).and_then(|code| StatusCode::from_u16(code).ok());
    said.filter(|status| status.is_client_error() || status.is_server_error()).unwrap_or(match scope {
        Scope::Group => StatusCode::BAD_REQUEST,
        Scope::Quota | Scope::Pushback => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::BAD_GATEWAY,
    })
}
