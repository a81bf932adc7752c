//! `GET /v1/models` and `/v1/models/{id}` in both dialects.

use serde_json::{Value, json};

use super::state::State;
use crate::dialect::Dialect;

/// The document of a listing path; absent for any other path and for an unknown model.
pub(crate) fn models(state: &State, path: &str) -> Option<String> {
    let tail = path.trim_start_matches('/').trim_start_matches("v1/").strip_prefix("models")?;
    let item = |id: &String| match state.dialect {
        Dialect::OpenAi => json!({"id": id, "object": "model", "created": 0, "owned_by": &*state.name}),
        Dialect::Anthropic => {
            json!({"type": "model", "id": id, "display_name": id, "created_at": "2026-01-01T00:00:00Z"})
        }
    };
    if let Some(id) = tail.strip_prefix('/') {
        return state.models.iter().find(|model| *model == id).map(|model| item(model).to_string());
    }
    let data: Vec<Value> = state.models.iter().map(item).collect();
    let list = match state.dialect {
        Dialect::OpenAi => json!({"object": "list", "data": data}),
        Dialect::Anthropic => json!({
            "data": data, "has_more": false,
            "first_id": state.models.first(), "last_id": state.models.last(),
        }),
    };
    tail.is_empty().then(|| list.to_string())
}
