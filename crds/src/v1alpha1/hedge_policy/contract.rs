//! What an answer must look like.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::{FinishReason, JsonPointer};

/// What a complete answer must look like to win. Streams are checked at their end, where their text has
/// at most 256 KiB, and only counted and recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Contract {
    /// Whether the answer must carry a finish reason. Default: true.
    pub require_finish: bool,
    /// Finish reasons that count as success, in the provider's words. Default: any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "set"))]
    pub allowed_finish_reasons: Vec<FinishReason>,
    /// Whether the answer's text must satisfy the JSON schema of the request: schemas up to 64 KiB without
    /// remote references. Default: false.
    pub json_schema_from_request: bool,
    /// JSON pointers (RFC 6901) that must exist in the answer's text. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "set"))]
    pub required_json_pointers: Vec<JsonPointer>,
}

impl Default for Contract {
    fn default() -> Self {
        Self {
            require_finish: true,
            allowed_finish_reasons: Vec::new(),
            json_schema_from_request: false,
            required_json_pointers: Vec::new(),
        }
    }
}
