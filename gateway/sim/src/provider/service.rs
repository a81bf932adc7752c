//! One HTTP request: read, count, decide, answer.
//!
//! In: a request on any connection. Out: the scripted response, or [`Hangup`] where the script closes the
//! connection. The future and the body it returns own the turn, so hyper cancels it by dropping them.

use std::sync::Arc;

use bytes::Bytes;
use fastrand::Rng;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header, request::Parts};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;

use super::{
    ask::Ask,
    body::{Body, Document, Timeline, full},
    control, listing,
    plan::{Plan, Refusal, Script, decide},
    state::{Seen, State},
    turn::{End, Turn},
};
use crate::{
    clock::unix_ms,
    dialect::{Answer, Dialect, Endpoint, ErrorShape, embeddings, error_json},
    profile::Fault,
};

/// The largest request that a provider reads (Anthropic's limit is 32 MB).
const LARGEST_BODY: usize = 32 << 20;

/// The script says to close the connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the scripted provider closes this connection")]
pub(crate) struct Hangup;

/// Answers one request.
pub(crate) async fn answer(state: Arc<State>, request: Request<Incoming>) -> Result<Response<Body>, Hangup> {
    let (head, body) = request.into_parts();
    if head.uri.path().starts_with(control::PREFIX) {
        return Ok(control::answer(&state, &head, body).await);
    }
    let nonce = state.next();
    let fail = |error: ErrorShape| Ok(failure(&state, nonce, &error));
    if !authorized(&state, &head.headers) {
        return fail(ErrorShape::new(401, "the key is not the one of this account"));
    }
    if head.method == Method::GET
        && let Some(json) = listing::models(&state, head.uri.path())
    {
        return Ok(response(&state, nonce, StatusCode::OK, "application/json", full(json)));
    }
    let Some((endpoint, deployment)) = Endpoint::of(state.dialect, head.uri.path()) else {
        return fail(unknown(state.dialect, head.uri.path()));
    };
    if head.method != Method::POST {
        return fail(ErrorShape::new(405, "use POST"));
    }
    let Ok(body) = Limited::new(body, LARGEST_BODY).collect().await else {
        return fail(ErrorShape::new(413, "the request is larger than 32 MiB, or broke off"));
    };
    let body = body.to_bytes();
    state.record(|| seen(&head, &body, nonce));
    let turn = Turn::begin(Arc::clone(&state), nonce);
    serve(&state, turn, endpoint, deployment, &body).await
}

async fn serve(
    state: &Arc<State>,
    mut turn: Turn,
    endpoint: Endpoint,
    deployment: Option<&str>,
    body: &[u8],
) -> Result<Response<Body>, Hangup> {
    let refuse = |turn: Turn, error: &ErrorShape| {
        let response = failure(state, turn.nonce, error);
        turn.end(End::Refused { throttled: false });
        Ok(response)
    };
    let ask = match Ask::read(endpoint, deployment, body, &state.name) {
        Ok(ask) => ask,
        Err(error) => return refuse(turn, &ErrorShape::new(400, error.to_string())),
    };
    let profile = state.profile();
    if let Err(wait) = state.take_quota(&profile, turn.running() - 1) {
        let mut response =
            failure(state, turn.nonce, &ErrorShape::new(429, "the quota of the account is used up"));
        hint(response.headers_mut(), "retry-after", wait.as_secs_f64().ceil().max(1.0));
        turn.end(End::Refused { throttled: true });
        return Ok(response);
    }
    let mut own = Rng::with_seed(state.seed ^ turn.nonce.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut prompt = Rng::with_seed(ask.fingerprint);
    let running = u32::try_from(turn.running()).unwrap_or(u32::MAX);
    match decide(&profile, &ask, running, &mut own, &mut prompt) {
        Plan::Refuse(refusal) => Ok(refused(state, turn, &refusal).await),
        Plan::Answer(script) => {
            turn.decided(ask.input_tokens, &script);
            let cached = ask
                .marker
                .cached_tokens
                .unwrap_or((f64::from(ask.input_tokens) * profile.cached_percent / 100.0) as u32);
            let answer = Answer {
                provider: Arc::clone(&state.name),
                nonce: turn.nonce,
                model: quoted(&ask.model),
                created: unix_ms() / 1000,
                tokens: script.tokens,
                capped: script.capped,
                tool: ask.tool.as_deref().map(quoted),
                include_usage: ask.include_usage,
                input: ask.input_tokens,
                cached: cached.min(ask.input_tokens),
            };
            generate(state, turn, endpoint, &ask, script, answer).await
        }
    }
}

async fn refused(state: &State, turn: Turn, refusal: &Refusal) -> Response<Body> {
    tokio::time::sleep(refusal.after).await;
    let mut response = failure(state, turn.nonce, &refusal.error);
    let headers = response.headers_mut();
    if let Some(seconds) = refusal.retry_after_s {
        hint(headers, "retry-after", seconds);
    }
    if let Some(ms) = refusal.retry_after_ms {
        hint(headers, "retry-after-ms", ms);
    }
    if let Some(should) = refusal.should_retry {
        hint(headers, "x-should-retry", should);
    }
    turn.end(End::Refused { throttled: false });
    response
}

async fn generate(
    state: &Arc<State>,
    turn: Turn,
    endpoint: Endpoint,
    ask: &Ask,
    script: Script,
    answer: Answer,
) -> Result<Response<Body>, Hangup> {
    let (nonce, started) = (turn.nonce, turn.started);
    let until = |offset| tokio::time::sleep_until(started + offset);
    match &script.fault {
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::Close) => {
            until(script.headers).await;
            turn.end(End::Cut);
            return Err(Hangup);
        }
        Some(fault @ (Fault::Html | Fault::Empty | Fault::ErrorBody)) => {
            until(script.first_token).await;
            return Ok(spoilt(state, turn, fault, ask.stream));
        }
        _ => {}
    }
    let fingerprint = format!("{:016x}", ask.fingerprint);
    let mut response = match endpoint.wire() {
        Some(wire) if ask.stream => {
            until(script.headers).await;
            let id = state.request_id(nonce);
            let body = Timeline::new(turn, script, answer, wire, state.dialect, id);
            response(state, nonce, StatusCode::OK, "text/event-stream; charset=utf-8", body.boxed_unsync())
        }
        Some(wire) => {
            until(script.end()).await;
            let body = document(turn, &script, wire.whole(&answer)).await;
            response(state, nonce, StatusCode::OK, "application/json", body.boxed_unsync())
        }
        None => {
            until(script.first_token).await;
            let text = match endpoint {
                Endpoint::Embeddings => embeddings(&answer, ask.inputs, ask.dimensions, ask.encoding),
                _ => format!(r#"{{"input_tokens":{}}}"#, answer.input),
            };
            let body = document(turn, &script, text).await;
            response(state, nonce, StatusCode::OK, "application/json", body.boxed_unsync())
        }
    };
    hint(response.headers_mut(), "x-sim-prompt-fingerprint", fingerprint);
    Ok(response)
}

/// The document with the faults that concern it.
async fn document(turn: Turn, script: &Script, text: String) -> Document {
    let bytes = Bytes::from(text);
    match script.fault {
        Some(Fault::Stall | Fault::StallAtToken(_)) => std::future::pending().await,
        Some(Fault::CutAtByte(at)) => Document::cut(turn, &bytes, usize::try_from(at).unwrap_or(usize::MAX)),
        Some(Fault::CutAtToken(_)) => {
            let half = bytes.len() / 2;
            Document::cut(turn, &bytes, half)
        }
        Some(Fault::BrokenFrames | Fault::EndEarly(_) | Fault::ErrorInStream(_)) => {
            let half = bytes.slice(..bytes.len() / 2);
            Document::whole(turn, half)
        }
        _ => Document::whole(turn, bytes),
    }
}

fn spoilt(state: &State, turn: Turn, fault: &Fault, stream: bool) -> Response<Body> {
    let nonce = turn.nonce;
    let (kind, text) = match fault {
        Fault::Html => ("text/html", "<!doctype html><title>502</title><h1>Bad gateway</h1>".to_owned()),
        Fault::ErrorBody => {
            let error = ErrorShape::new(500, "a scripted error in a 200");
            ("application/json", error_json(state.dialect, &error, &state.request_id(nonce)))
        }
        _ if stream => ("text/event-stream; charset=utf-8", String::new()),
        _ => ("application/json", String::new()),
    };
    let body = Document::whole(turn, text.into());
    response(state, nonce, StatusCode::OK, kind, body.boxed_unsync())
}

fn unknown(dialect: Dialect, path: &str) -> ErrorShape {
    let error = ErrorShape::new(404, format!("nothing is served at {path}"));
    let is_model = path.contains("/models/");
    ErrorShape { code: (dialect == Dialect::OpenAi && !is_model).then(|| "unknown_url".to_owned()), ..error }
}

fn failure(state: &State, nonce: u64, error: &ErrorShape) -> Response<Body> {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let text = error_json(state.dialect, error, &state.request_id(nonce));
    response(state, nonce, status, "application/json", full(text))
}

fn response(state: &State, nonce: u64, status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    state.stats.send_modify(|stats| *stats.by_status.entry(status.as_u16()).or_default() += 1);
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    hint(headers, "x-request-id", state.request_id(nonce));
    hint(headers, "x-sim-provider", &state.name);
    if state.dialect == Dialect::Anthropic {
        hint(headers, "request-id", state.request_id(nonce));
    }
    response
}

fn hint(headers: &mut HeaderMap, name: &'static str, value: impl std::fmt::Display) {
    if let Ok(value) = HeaderValue::from_str(&value.to_string()) {
        headers.insert(name, value);
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn authorized(state: &State, headers: &HeaderMap) -> bool {
    let Some(key) = state.api_key.as_deref() else { return true };
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = value("authorization").and_then(|text| text.strip_prefix("Bearer "));
    [bearer, value("x-api-key"), value("api-key")].contains(&Some(key))
}

fn seen(head: &Parts, body: &Bytes, nonce: u64) -> Seen {
    let path = head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str).to_owned();
    Seen { path, version: head.version, headers: head.headers.clone(), body: body.clone(), nonce }
}
