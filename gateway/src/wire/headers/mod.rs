//! Which headers cross the gateway, and what it reads from them.
//!
//! Inputs: header maps of clients and providers. Outputs: filtered copies, and the few facts in them: deadline, retry
//! count, credential, action id. Invariants: no client credential, cookie, origin, organisation or hop-by-hop header
//! reaches a provider, nothing that identifies the operator's account reaches a client, and a request whose framing
//! two servers could read differently is refused. Everything not named here passes, so that beta headers need no
//! release. It refuses to log: [`Credential`] hides itself. Names are constants: a lookup by text parses its name first,
//! and most of those that a request is asked for are not there.
//!
//! Sources: RFC 9110 section 7.6.1 (hop-by-hop), RFC 9112 section 6 (framing), `x-stainless-*` of both vendors' SDKs,
//! `amz-sdk-request` of AWS SDKs.

use std::fmt;
use std::time::Duration;

use http::Version;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderName,
    HeaderValue, TRANSFER_ENCODING,
};

/// The provider's request id on its way to the client.
pub const UPSTREAM_REQUEST_ID: HeaderName = HeaderName::from_static("x-upstream-request-id");
/// The user action's id.
pub const ACTION: HeaderName = HeaderName::from_static("x-hedgerow-action");

/// Meaningful for one connection only.
fn is_hop_by_hop(name: &str) -> bool {
    matches!(
        name,
        "connection" | "keep-alive" | "te" | "trailer" | "transfer-encoding" | "upgrade" | "http2-settings"
    ) || name.starts_with("proxy-")
}

/// What of a client's request stays here.
fn stays_here(name: &str) -> bool {
    const EXACT: &[&str] = &[
        // written anew for each attempt
        "host",
        "content-length",
        "accept-encoding",
        "expect",
        // who the client is to us
        "authorization",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "x-goog-user-project",
        "cookie",
        "ocp-apim-subscription-key",
        "x-amz-security-token",
        "x-amz-date",
        "x-amz-content-sha256",
        // whose account it is: the route says that
        "openai-organization",
        "openai-project",
        // where it came from; Anthropic answers 401 to some accounts when it sees an origin
        "origin",
        "referer",
        "forwarded",
        "via",
        "x-real-ip",
        "true-client-ip",
        "x-client-ip",
        "x-original-host",
        // identities and counts of one attempt, which must not repeat over several
        "x-request-id",
        "x-client-request-id",
        "idempotency-key",
        "x-server-timeout",
        "grpc-timeout",
    ];
    const PREFIXES: &[&str] = &[
        "x-forwarded-",
        "x-stainless-",
        "x-hedgerow-",
        "x-envoy-",
        "cf-",
        "amz-sdk-",
        "sec-",
        "access-control-",
    ];
    is_hop_by_hop(name) || EXACT.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// What of a provider's answer stays here.
fn stays_upstream(name: &str) -> bool {
    const EXACT: &[&str] = &[
        // written anew; the wait and the retry advice come from the verdict on the answer
        "content-length",
        "date",
        "retry-after",
        "retry-after-ms",
        "x-amz-retry-after",
        "x-should-retry",
        // the operator's account and the provider's edge
        "set-cookie",
        "server",
        "via",
        "alt-svc",
        "nel",
        "report-to",
        "strict-transport-security",
        "openai-organization",
        "openai-project",
        "anthropic-organization-id",
        "x-accel-buffering",
    ];
    const PREFIXES: &[&str] = &["cf-", "x-hedgerow-", "access-control-", "x-envoy-"];
    is_hop_by_hop(name) || EXACT.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Names under which providers give their request id, best first.
static REQUEST_IDS: [HeaderName; 4] = [
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("request-id"),
    HeaderName::from_static("apim-request-id"),
    HeaderName::from_static("x-amzn-requestid"),
];

/// Headers in which clients say how long they wait, and the seconds that their unit stands for.
static DEADLINES: [(HeaderName, f64); 4] = [
    (HeaderName::from_static("x-hedgerow-deadline-ms"), 1e-3),
    (HeaderName::from_static("x-stainless-read-timeout"), 1.0),
    (HeaderName::from_static("x-stainless-timeout"), 1.0),
    (HeaderName::from_static("x-server-timeout"), 1.0),
];

const STAINLESS_RETRY: HeaderName = HeaderName::from_static("x-stainless-retry-count");
const AMAZON_RETRY: HeaderName = HeaderName::from_static("amz-sdk-request");
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const API_KEY: HeaderName = HeaderName::from_static("api-key");

/// Copies what a provider may see of the client's headers, and asks for an unencoded answer.
///
/// Host, length, credentials and static headers of the route are the caller's to add.
pub fn to_upstream(client: &HeaderMap, out: &mut HeaderMap) {
    let listed = listed_in_connection(client);
    for (name, value) in client {
        if !stays_here(name.as_str()) && !lists(&listed, name.as_str()) {
            out.append(name.clone(), value.clone());
        }
    }
    out.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// Copies what a client may see of a provider's headers. The provider's request id becomes
/// `x-upstream-request-id`; rate limits of one upstream mislead where several serve, so `rate_limits` decides.
pub fn to_client(upstream: &HeaderMap, out: &mut HeaderMap, rate_limits: bool) {
    let listed = listed_in_connection(upstream);
    for (name, value) in upstream {
        let text = name.as_str();
        let limit = text.starts_with("x-ratelimit-") || text.starts_with("anthropic-ratelimit-");
        if !(stays_upstream(text)
            || REQUEST_IDS.contains(name)
            || lists(&listed, text)
            || limit && !rate_limits)
        {
            out.append(name.clone(), value.clone());
        }
    }
    if let Some(id) = request_id(upstream) {
        out.insert(UPSTREAM_REQUEST_ID, id.clone());
    }
}

/// The request id of a provider: the best of those that are text, because support tools and logs cannot repeat others.
pub fn request_id(upstream: &HeaderMap) -> Option<&HeaderValue> {
    REQUEST_IDS.iter().filter_map(|name| upstream.get(name)).find(|id| id.to_str().is_ok())
}

/// Whether a body is encoded. An answer is so although nothing but `identity` was asked for: it is passed on with its
/// header as it is, and can't be read on the way. A request is refused.
pub fn is_encoded(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_ENCODING).is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// The headers that `Connection` declares hop-by-hop.
fn listed_in_connection(headers: &HeaderMap) -> Vec<&str> {
    if !headers.contains_key(CONNECTION) {
        return Vec::new();
    }
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',').map(str::trim)).collect()
}

fn lists(names: &[&str], name: &str) -> bool {
    names.iter().any(|listed| listed.eq_ignore_ascii_case(name))
}

/// The shortest time the client says it will wait, from its arrival. Malformed and non-positive values are none:
/// an SDK has sent the word `NOT_GIVEN` here.
pub fn deadline(client: &HeaderMap) -> Option<Duration> {
    let read = |(name, unit): &(HeaderName, f64)| {
        let value: f64 = client.get(name)?.to_str().ok()?.trim().parse().ok()?;
        if value.is_finite() && value > 0.0 { Duration::try_from_secs_f64(value * unit).ok() } else { None }
    };
    DEADLINES.iter().filter_map(read).min()
}

/// How many times the client has tried this user action before; 0 for an original.
pub fn client_retry(client: &HeaderMap) -> u32 {
    let stainless = client.get(STAINLESS_RETRY).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let amazon = || {
        let value = client.get(AMAZON_RETRY)?.to_str().ok()?;
        let attempt = value.split(';').find_map(|part| part.trim().strip_prefix("attempt="))?;
        attempt.parse::<u32>().ok()?.checked_sub(1)
    };
    stainless.or_else(amazon).unwrap_or(0)
}

/// The client's own id for its user action, when it is fit to be repeated: 1 to 128 of letters, digits, `-_.:`.
pub fn action_id(client: &HeaderMap) -> Option<&str> {
    let id = client.get(ACTION)?.to_str().ok()?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    ((1..=128).contains(&id.len()) && id.bytes().all(plain)).then_some(id)
}

/// A key that a client presented. `Debug` does not show it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Credential<'a> {
    /// Where it was.
    pub place: Place,
    secret: &'a [u8],
}

/// The header a key came in, so that a passthrough route can send it on in the same form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `Authorization: Bearer ...`
    Bearer,
    /// `x-api-key`
    XApiKey,
    /// `api-key`
    ApiKey,
}

impl<'a> Credential<'a> {
    /// The key itself, for hashing and comparing in constant time.
    pub fn bytes(self) -> &'a [u8] {
        self.secret
    }
}

impl fmt::Debug for Credential<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Credential({:?}, redacted)", self.place)
    }
}

/// The first key a request presents.
pub fn credential(client: &HeaderMap) -> Option<Credential<'_>> {
    let bearer = || {
        let value = client.get(AUTHORIZATION)?.as_bytes();
        let (scheme, secret) = value.split_at_checked(7)?;
        scheme.eq_ignore_ascii_case(b"bearer ").then(|| secret.trim_ascii())
    };
    let plain = |name: HeaderName| client.get(name).map(|value: &HeaderValue| value.as_bytes().trim_ascii());
    let found =
        [(Place::Bearer, bearer()), (Place::XApiKey, plain(X_API_KEY)), (Place::ApiKey, plain(API_KEY))];
    found.into_iter().find_map(|(place, secret)| {
        let secret = secret.filter(|secret| !secret.is_empty())?;
        Some(Credential { place, secret })
    })
}

/// A request whose end two servers could see in different places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// Both ways to tell the length.
    #[error("both `transfer-encoding` and `content-length` are set; send one of them")]
    Both,
    /// More than one length, or one that is no number.
    #[error("`content-length` must be one number")]
    Length,
    /// Another coding than chunked, or one where the protocol has none.
    #[error("`transfer-encoding` must be `chunked`, in HTTP/1.1 only")]
    Coding,
}

/// Checks the framing headers as far as the HTTP library lets ambiguous ones through.
pub fn framing(version: Version, headers: &HeaderMap) -> Result<(), FramingError> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let (coding, length) = (codings.next(), lengths.next());
    if coding.is_some() && length.is_some() {
        return Err(FramingError::Both);
    }
    let digits = |value: &HeaderValue| !value.is_empty() && value.as_bytes().iter().all(u8::is_ascii_digit);
    if lengths.next().is_some() || !length.is_none_or(digits) {
        return Err(FramingError::Length);
    }
    let chunked = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    let once = codings.next().is_none() && coding.is_none_or(chunked);
    if !once || coding.is_some() && version != Version::HTTP_11 {
        return Err(FramingError::Coding);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
