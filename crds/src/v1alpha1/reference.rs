//! What several kinds refer to: data in Secrets and ConfigMaps, and API operations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::{DataKey, ObjectName};

/// One key of a Secret or ConfigMap in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DataRef {
    /// Name of the object, in the same namespace.
    pub name: ObjectName,
    /// Key inside it.
    pub key: DataKey,
}

/// An operation of the providers' APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Operation {
    /// OpenAI chat completions.
    ChatCompletions,
    /// OpenAI legacy completions.
    Completions,
    /// OpenAI responses.
    Responses,
    /// OpenAI embeddings.
    Embeddings,
    /// Anthropic messages.
    Messages,
    /// Anthropic token counting.
    CountTokens,
}
