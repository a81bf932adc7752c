//! `GET /v1/models` and `/v1/models/{id}` in either dialect: what the configuration in force lists. Asks no provider.

use std::sync::Arc;

use axum::response::Response;
use http::HeaderMap;
use serde_json::{Value, json};

use super::answer;
use crate::{
    runtime::{
        Runtime,
        snapshot::{Listing, Snapshot, WILDCARD},
    },
    wire::{
        answer::{ErrorAnswer, Kind},
        dialect::Dialect,
        headers, path,
    },
};

/// The list.
pub fn list(runtime: &Runtime, client: &HeaderMap) -> Response {
    let (dialect, snapshot) = match open(runtime, client) {
        Ok(opened) => opened,
        Err(refused) => return *refused,
    };
    let mut names: Vec<&Arc<Listing>> =
        snapshot.listings.values().filter(|listing| listed(listing, dialect)).collect();
    names.sort_by(|left, right| left.name.cmp(&right.name));
    let data: Vec<Value> = names.iter().map(|listing| entry(&snapshot, &listing.name, dialect)).collect();
    let body = match dialect {
        Dialect::OpenAi => json!({ "object": "list", "data": data }),
        Dialect::Anthropic => json!({
            "data": data,
            "has_more": false,
            "first_id": names.first().map(|listing| &listing.name),
            "last_id": names.last().map(|listing| &listing.name),
        }),
    };
    answer::own(body.to_string())
}

/// One model.
pub fn show(runtime: &Runtime, client: &HeaderMap, id: &str) -> Response {
    let (dialect, snapshot) = match open(runtime, client) {
        Ok(opened) => opened,
        Err(refused) => return *refused,
    };
    match snapshot.listings.get(id).filter(|listing| listed(listing, dialect)) {
        Some(listing) => answer::own(entry(&snapshot, &listing.name, dialect).to_string()),
        None => answer::error(ErrorAnswer::model_not_found(id), dialect),
    }
}

fn open(runtime: &Runtime, client: &HeaderMap) -> Result<(Dialect, Arc<Snapshot>), Box<Response>> {
    let dialect = path::models_dialect(client);
    let refuse =
        |kind, message: &'static str| Box::new(answer::error(ErrorAnswer::new(kind, message), dialect));
    let snapshot = runtime
        .snapshot()
        .ok_or_else(|| refuse(Kind::NoRoute, "the gateway has no configuration yet: try again"))?;
    let keys = runtime.client_keys();
    let known =
        !keys.required() || headers::credential(client).is_some_and(|key| keys.tenant(key.bytes()).is_some());
    if known {
        Ok((dialect, snapshot))
    } else {
        Err(refuse(Kind::Unauthorized, "a known client key is needed"))
    }
}

fn listed(listing: &Listing, dialect: Dialect) -> bool {
    listing.name != WILDCARD && listing.offers.iter().any(|offer| offer.route.dialect() == dialect)
}

fn entry(snapshot: &Snapshot, name: &str, dialect: Dialect) -> Value {
    let created = snapshot.since_unix_ms / 1_000;
    match dialect {
        Dialect::OpenAi => {
            json!({ "id": name, "object": "model", "created": created, "owned_by": "hedgerow" })
        }
        Dialect::Anthropic => {
            let at = i64::try_from(created).ok().and_then(|second| jiff::Timestamp::from_second(second).ok());
            let at = at.unwrap_or_default().to_string();
            json!({ "type": "model", "id": name, "display_name": name, "created_at": at })
        }
    }
}
