//! From a body to a planned user action: scan, model, class, cohort, lane, ends.
//!
//! One pass over the body (`wire::scan`); nothing is parsed twice. Outputs: a [`Request`], or the error that names what to
//! change.

use std::{sync::Arc, time::Duration};

use hedgerow_config::{route::AuthScheme, settings::Affinity};
use hedgerow_policy::{
    ledger::{InputRatio, estimate_input},
    time::Moment,
};
use http::{HeaderMap, HeaderName};

use super::generate::Arrival;
use crate::{
    race::action::Request,
    runtime::{
        cell,
        cohort::CohortRuntime,
        matching::Traits,
        snapshot::{Listing, Snapshot},
    },
    trace::context::TRACEPARENT,
    wire::{
        answer::{ErrorAnswer, Kind},
        contract,
        dialect::Operation,
        document::Document,
        eligibility, headers,
        scan::{self, Key, Scan},
    },
};

/// Prompts from this size on keep their route for the sake of its prompt cache.
const AFFINITY_BYTES: u64 = 4 * 1024;
/// We answer this much before the caller's own end.
const MARGIN: Duration = Duration::from_millis(250);

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Ids of one user action.
pub struct Ids {
    /// `x-request-id`.
    pub request: String,
    /// `x-hedgerow-action`.
    pub action: String,
    /// Number from which draws are made.
    pub draw: u128,
}

impl Ids {
    /// New ids; the action's id is the client's own if it sent one.
    pub fn new(client: &HeaderMap, snapshot: &Snapshot) -> Self {
        let request = id("req_", fastrand::u128(..));
        let own = fastrand::u128(..);
        match headers::action_id(client) {
            None => Self { request, action: id("ua_", own), draw: own },
            Some(id) => {
                let low = snapshot.key.hash(id.as_bytes());
                let high = snapshot.key.hash(&low.to_le_bytes());
                Self { request, action: id.to_owned(), draw: u128::from(high) << 64 | u128::from(low) }
            }
        }
    }
}

/// `prefix` and 32 hex digits. Not by `format!`, which takes 3,500 instructions for them, and each request has two.
pub fn id(prefix: &str, number: u128) -> String {
    let mut text = String::with_capacity(prefix.len() + 32);
    text.push_str(prefix);
    let digits = number.to_be_bytes().into_iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    text.extend(digits.map(|digit| char::from(DIGITS[usize::from(digit)])));
    text
}

/// Four hex digits of the prompt's hash.
fn fingerprint(head: u64) -> String {
    (0..4).rev().map(|place| DIGITS[(head >> (4 * place) & 0xf) as usize]).map(char::from).collect()
}

/// Scans a body and finds out what it is. The texts of `ids` go with the request.
pub fn classify(
    snapshot: &Snapshot,
    arrival: &Arrival,
    ids: &mut Ids,
    tenant: String,
    document: &Document,
    arrived: Moment,
) -> Result<(Request, Scan), ErrorAnswer> {
    let body = document.text();
    let scan = found(document)?;
    let model = match &arrival.deployment {
        Some(deployment) => deployment.clone(),
        None => scan.model(body)?.into_owned(),
    };
    let client = &arrival.head.headers;
    let operation = arrival.operation;
    let listing =
        snapshot.listing(&model, operation.dialect()).ok_or_else(|| ErrorAnswer::model_not_found(&model))?;
    let passthrough = passthrough(listing, operation, client)?;
    let eligibility = eligibility::classify(operation, &scan, body, &model, passthrough);
    let stream = scan.stream() && operation.streams();
    let text_bytes = scan.text_bytes() + document.unread_text();
    let input_tokens = estimate_input(text_bytes, InputRatio::default().bytes_per_token_milli());
    let max_output = scan.max_output(body);
    let traits = Traits {
        model: &model,
        operation,
        stream,
        tools: eligibility.tools,
        input_tokens,
        max_output,
        headers: client,
        tenant: &tenant,
    };
    let cohort = snapshot.cohort(&traits).cloned();
    let lane = snapshot
        .lane(&traits)
        .cloned()
        .ok_or_else(|| ErrorAnswer::new(Kind::Internal, "the configuration has no lane"))?;
    let (deadline, total) = ends(snapshot, cohort.as_deref(), stream, client, arrived);
    // The one pass over the prompt's head; affinity and fingerprint are both made of it.
    let head = snapshot.key.hash(scan.prompt_head(body));
    let request = Request {
        id: std::mem::take(&mut ids.action),
        draw: ids.draw,
        request_id: std::mem::take(&mut ids.request),
        operation,
        stream,
        affinity: affinity(snapshot, &scan, body, listing, &tenant, head),
        fingerprint: fingerprint(head),
        listing: Arc::clone(listing),
        model,
        tenant,
        schema: schema(snapshot, cohort.as_deref(), operation, document),
        cohort,
        lane,
        eligibility,
        band: cell::band(input_tokens),
        input_tokens,
        text_bytes,
        max_output,
        arrived,
        deadline,
        total,
        client_retry: headers::client_retry(client) > 0,
        passthrough,
        traceparent: text(client, &TRACEPARENT),
    };
    Ok((request, scan))
}

/// Scans a document; what is wrong with it is told with offsets in the body.
fn found(document: &Document) -> Result<Scan, scan::ScanError> {
    scan::scan(document.text()).map_err(|error| {
        if document.is_cut() { scan::scan(&document.joined()).err().unwrap_or(error) } else { error }
    })
}

/// The schema that an answer is held against, where the policy wants that.
fn schema(
    snapshot: &Snapshot,
    cohort: Option<&CohortRuntime>,
    operation: Operation,
    document: &Document,
) -> Option<Box<[u8]>> {
    if !snapshot.terms(cohort).contract.json_schema_from_request {
        return None;
    }
    if document.is_cut() {
        return contract::schema(operation, &document.joined()).map(Into::into);
    }
    contract::schema(operation, document.text()).map(Into::into)
}

/// Whether the model's routes use the caller's own provider key, which then must be there.
fn passthrough(listing: &Listing, operation: Operation, client: &HeaderMap) -> Result<bool, ErrorAnswer> {
    let passthrough = listing.offers.iter().any(|offer| {
        offer.route.dialect() == operation.dialect()
            && offer.route.config.auth.scheme == AuthScheme::Passthrough
    });
    if passthrough && headers::credential(client).is_none() {
        return Err(ErrorAnswer::new(
            Kind::Unauthorized,
            "this model's routes use the caller's own provider key: send it as usual",
        ));
    }
    Ok(passthrough)
}

/// Up to when attempts may be committed, and up to when the whole answer may take: the policy's ends, or the client's own
/// if it is shorter.
fn ends(
    snapshot: &Snapshot,
    cohort: Option<&CohortRuntime>,
    stream: bool,
    client: &HeaderMap,
    arrived: Moment,
) -> (Moment, Moment) {
    let deadline = snapshot.terms(cohort).deadline;
    let own = Duration::from_millis(if stream { deadline.stream_ms } else { deadline.complete_ms });
    let asked = headers::deadline(client).map_or(own, |asked| asked.min(own));
    let total = arrived + Duration::from_millis(deadline.total_ms);
    ((arrived + asked.saturating_sub(MARGIN)).min(total), total)
}

/// Hash of tenant, model and what decides about prompt caches: the cache key, else the `head` of the prompt. `None` = plain
/// weights.
fn affinity(
    snapshot: &Snapshot,
    scan: &Scan,
    body: &[u8],
    listing: &Listing,
    tenant: &str,
    head: u64,
) -> Option<u64> {
    if snapshot.settings.affinity == Affinity::None {
        return None;
    }
    let cache_key = scan.raw(Key::PromptCacheKey, body);
    let prompt = scan.prompt().map_or(0, |span| span.len() as u64);
    if cache_key.is_none() && prompt < AFFINITY_BYTES {
        return None;
    }
    let key = &snapshot.key;
    let of = |hash: u64, bytes: &[u8]| key.hash(&[&hash.to_le_bytes()[..], bytes].concat());
    let start = of(key.hash(tenant.as_bytes()), listing.name.as_bytes());
    Some(cache_key.map_or_else(
        || of(start, &head.to_le_bytes()),
        |cache_key| of(start, &cache_key[..cache_key.len().min(scan::HEAD_BYTES)]),
    ))
}

fn text(client: &HeaderMap, name: &HeaderName) -> String {
    client.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().chars().take(128).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_their_prefix_and_32_digits() {
        for number in [0, 0xf, u128::MAX, 0x0123_4567_89ab_cdef_0011_2233_4455_6677] {
            assert_eq!(id("req_", number), format!("req_{number:032x}"));
            assert_eq!(fingerprint(number as u64), format!("{:04x}", number & 0xffff));
        }
    }
}
