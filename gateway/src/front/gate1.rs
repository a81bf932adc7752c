//! Gate 1: what can be refused by headers alone, before the body is read.
//!
//! Client key, size and coding of the body, the pod's ceiling of user actions (`maxInFlight`), ceiling of buffered bytes.
//! Inputs: the request's head. Outputs: an [`Entry`] that holds the bytes, or an error answer.
//!
//! A request whose body is still being sent is no user action yet: it is refused here while the pod is full, but it takes
//! its place of `maxInFlight` only when its body is whole ([`place`]). Otherwise 900 announced bodies that never come
//! would keep everybody out. What it takes instead is memory, so it counts as bytes: what it has sent, and 16 KiB at
//! least for its connection and buffers. How long it may take to send them: [`super::body`].

use std::{sync::Arc, time::Duration};

use hedgerow_config::settings::TenantFrom;
use hedgerow_policy::gauge::Held;
use http::{HeaderMap, header};

use crate::{
    runtime::{Runtime, snapshot::Snapshot},
    wire::{
        answer::{ErrorAnswer, Kind},
        headers,
    },
};

/// Accounted on entry at most; the rest as it arrives, so that a client holds what it has sent and not what it has
/// announced.
pub const FIRST_BYTES: u64 = 64 * 1024;
/// Accounted on entry at least, until the body is whole: a connection with its task and read buffer (measured: 10 to
/// 20 KB), of which 13,000 reach the default ceiling.
const LEAST_BYTES: u64 = 16 * 1024;

/// A request whose body may be read.
pub struct Entry {
    /// Who is asking.
    pub tenant: String,
    /// Buffered bytes, grown while the body is read.
    pub buffered: Held,
    /// What the client says its body is long.
    pub content_length: Option<u64>,
}

/// Asks gate 1.
pub fn enter(runtime: &Arc<Runtime>, snapshot: &Snapshot, client: &HeaderMap) -> Result<Entry, ErrorAnswer> {
    let tenant = tenant(runtime, snapshot, client)?;
    let settings = &snapshot.settings;
    let content_length = client
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse().ok());
    if content_length.is_some_and(|length| length > settings.max_request_bytes) {
        return Err(too_large(settings.max_request_bytes));
    }
    if headers::is_encoded(client) {
        return Err(encoded(client));
    }
    if runtime.gauges.actions.get() >= u64::from(settings.max_in_flight) {
        return Err(pod_full(snapshot));
    }
    let (announced, ceiling) = (content_length.unwrap_or(0), settings.buffered_bytes_limit);
    let buffered = Some(&runtime.gauges.buffered)
        .filter(|buffered| buffered.get().saturating_add(announced) <= ceiling)
        .and_then(|buffered| buffered.hold_within(announced.clamp(LEAST_BYTES, FIRST_BYTES), ceiling))
        .ok_or_else(|| body_memory(snapshot))?;
    Ok(Entry { tenant, buffered, content_length })
}

/// Takes the place of a user action whose body is whole: one of `maxInFlight`.
pub fn place(runtime: &Runtime, snapshot: &Snapshot) -> Result<Held, ErrorAnswer> {
    let most = u64::from(snapshot.settings.max_in_flight);
    runtime.gauges.actions.hold_within(1, most).ok_or_else(|| pod_full(snapshot))
}

fn tenant(runtime: &Runtime, snapshot: &Snapshot, client: &HeaderMap) -> Result<String, ErrorAnswer> {
    let keys = runtime.client_keys();
    let by_key = if keys.required() {
        let presented = headers::credential(client).ok_or_else(|| {
            ErrorAnswer::new(
                Kind::Unauthorized,
                "a client key is needed: send it as Authorization: Bearer, x-api-key or api-key",
            )
        })?;
        let tenant = keys.tenant(presented.bytes()).ok_or_else(|| {
            ErrorAnswer::new(
                Kind::Unauthorized,
                "this client key is not known here: ask the platform team for one",
            )
        })?;
        Some(tenant.to_owned())
    } else {
        None
    };
    Ok(match &snapshot.settings.tenant_from {
        TenantFrom::ApiKey => by_key.unwrap_or_default(),
        TenantFrom::Header(name) => client
            .get(name.as_str())
            .and_then(|value| value.to_str().ok())
            .map_or_else(String::new, |value| value.chars().take(128).collect()),
        TenantFrom::None => String::new(),
    })
}

/// Refuses a body that is longer than the fleet allows.
pub fn too_large(limit: u64) -> ErrorAnswer {
    ErrorAnswer::new(Kind::TooLarge, format!("the body is longer than {limit} bytes: send less"))
}

/// Refuses a compressed body: it would have to be unpacked to be read, and 16 MiB can stand for 16 GiB.
fn encoded(client: &HeaderMap) -> ErrorAnswer {
    let coding = client.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or("?");
    let coding: String = coding.chars().take(32).collect();
    ErrorAnswer::new(
        Kind::BadRequest,
        format!("a body with content-encoding {coding} is not read here: send plain JSON"),
    )
}

/// Reason of a refusal that no lane decided.
pub const BODY_MEMORY: &str = "BodyMemory";

/// Refuses because buffered bodies use their share of the memory.
pub fn body_memory(snapshot: &Snapshot) -> ErrorAnswer {
    shed(snapshot, BODY_MEMORY, "the gateway buffers as many request bytes as it may")
}

fn pod_full(snapshot: &Snapshot) -> ErrorAnswer {
    shed(snapshot, "PodFull", "the gateway carries as many requests as it may")
}

/// Sheds before the lane is known: counted at the lane that takes everything.
fn shed(snapshot: &Snapshot, reason: &'static str, message: &'static str) -> ErrorAnswer {
    let second = Duration::from_secs(1);
    let mut told = ErrorAnswer::new(Kind::Overloaded, format!("{message}: try again after Retry-After"))
        .with_retry_after(second)
        .with_should_retry(true)
        .with_reason(reason);
    if let Some(lane) = snapshot.lanes.last() {
        lane.state.count_shed(reason, 1);
        lane.metrics.shed(reason);
        told = told.with_lane(lane.config.name.clone());
    }
    told
}
