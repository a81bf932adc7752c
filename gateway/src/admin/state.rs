//! `GET /state`, whole or short, compressed where the reader accepts it.

use std::io::Write as _;

use axum::{
    extract::{RawQuery, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use flate2::{Compression, write::GzEncoder};

use super::Admin;

/// Below this, compressing costs more than it saves.
const COMPRESS_FROM: usize = 1024;

pub(super) async fn state(
    State(admin): State<Admin>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let short = query.is_some_and(|query| query.split('&').any(|pair| pair == "only=digest"));
    let written = if short {
        serde_json::to_vec(&admin.source.digest_only())
    } else {
        let written = serde_json::to_vec(&admin.source.state());
        admin.scrapes.note();
        written
    };
    match written {
        Ok(json) => answer(json, accepts_gzip(&headers)),
        Err(error) => {
            tracing::error!(%error, "state cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn answer(json: Vec<u8>, gzip: bool) -> Response {
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if gzip && json.len() >= COMPRESS_FROM {
        let mut encoder = GzEncoder::new(Vec::with_capacity(json.len() / 4), Compression::fast());
        if encoder.write_all(&json).is_ok()
            && let Ok(packed) = encoder.finish()
        {
            let encoding = (header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            return ([kind, encoding], packed).into_response();
        }
    }
    ([kind], json).into_response()
}

/// Whether `Accept-Encoding` names gzip without refusing it (`q=0`).
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let named = parts.next().is_some_and(|coding| coding.eq_ignore_ascii_case("gzip"));
        named && !parts.any(|weight| matches!(weight, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}
