//! Control over HTTP, for tests in other languages and for people:
//! `GET` or `PUT /__sim/profile`, `GET /__sim/stats`, `POST /__sim/reset`. Not counted as traffic.

use std::sync::Arc;

use http::{HeaderValue, Method, Response, StatusCode, header, request::Parts};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;

use super::{
    body::{Body, full},
    state::State,
};
use crate::profile::Profile;

/// Paths that begin so are control and never traffic.
pub(crate) const PREFIX: &str = "/__sim/";
/// The largest profile.
const LARGEST_BODY: usize = 1 << 20;

pub(crate) async fn answer(state: &State, head: &Parts, body: Incoming) -> Response<Body> {
    let tail = head.uri.path().trim_start_matches(PREFIX);
    let (status, text) = match (&head.method, tail) {
        (&Method::GET, "profile") => json(&*state.profile()),
        (&Method::GET, "stats") => json(&*state.stats.borrow()),
        (&Method::PUT, "profile") => match read(body).await {
            Ok(profile) => {
                state.profile.send_replace(Arc::new(profile));
                json(&*state.profile())
            }
            Err(reason) => (StatusCode::BAD_REQUEST, reason),
        },
        (&Method::POST, "reset") => {
            state.forget();
            json(&*state.stats.borrow())
        }
        _ => (StatusCode::NOT_FOUND, "use profile, stats or reset".to_owned()),
    };
    let mut response = Response::new(full(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

async fn read(body: Incoming) -> Result<Profile, String> {
    let body = Limited::new(body, LARGEST_BODY).collect().await.map_err(|error| error.to_string())?;
    serde_json::from_slice(&body.to_bytes()).map_err(|error| format!("this is not a profile: {error}"))
}

fn json(value: &impl serde::Serialize) -> (StatusCode, String) {
    serde_json::to_string(value).map_or_else(
        |error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        |text| (StatusCode::OK, text),
    )
}
