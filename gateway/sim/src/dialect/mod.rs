//! The shapes of answers: two dialects, five endpoints that generate, and the errors of each.
//!
//! In: an [`Answer`] that was already decided. Out: bytes that the official SDKs parse. Nothing here waits,
//! draws or counts; frames are built when they are due, so a cancelled answer costs only what was sent.
//! Sources: the OpenAI and Anthropic API references; what counts as a first token is kept out of each prelude.

mod chat;
mod completions;
mod embedding;
mod error;
mod messages;
mod responses;

use std::{fmt::Write as _, ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};

pub(crate) use embedding::{Encoding, embeddings};
pub(crate) use error::{ErrorShape, error_frame, error_json};

/// The API family that a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Chat completions, completions, responses, embeddings, models.
    OpenAi,
    /// Messages, token counts, models.
    Anthropic,
}

impl std::str::FromStr for Dialect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "openai" => Ok(Self::OpenAi),
            "anthropic" => Ok(Self::Anthropic),
            _ => Err(format!("`{text}` is no dialect; use openai or anthropic")),
        }
    }
}

/// Where a request was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Chat,
    Completions,
    Responses,
    Embeddings,
    Messages,
    CountTokens,
}

impl Endpoint {
    /// The endpoint of a `POST` path and the deployment that an Azure path names.
    pub(crate) fn of(dialect: Dialect, path: &str) -> Option<(Self, Option<&str>)> {
        let (tail, deployment) = match path.strip_prefix("/openai/deployments/") {
            Some(rest) => rest.split_once('/').map(|(name, tail)| (tail, Some(name)))?,
            None => (path.trim_start_matches('/').trim_start_matches("v1/"), None),
        };
        let endpoint = match (dialect, tail) {
            (Dialect::OpenAi, "chat/completions") => Self::Chat,
            (Dialect::OpenAi, "completions") => Self::Completions,
            (Dialect::OpenAi, "responses") => Self::Responses,
            (Dialect::OpenAi, "embeddings") => Self::Embeddings,
            (Dialect::Anthropic, "messages") => Self::Messages,
            (Dialect::Anthropic, "messages/count_tokens") => Self::CountTokens,
            _ => return None,
        };
        Some((endpoint, deployment))
    }

    /// The frames of a generating endpoint; absent for the two that only compute.
    pub(crate) fn wire(self) -> Option<&'static dyn Wire> {
        match self {
            Self::Chat => Some(&chat::Chat),
            Self::Completions => Some(&completions::Completions),
            Self::Responses => Some(&responses::Responses),
            Self::Messages => Some(&messages::Messages),
            Self::Embeddings | Self::CountTokens => None,
        }
    }

    /// Whether the endpoint can be told to call a tool.
    pub(crate) fn calls_tools(self) -> bool {
        matches!(self, Self::Chat | Self::Messages)
    }
}

/// One decided answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) provider: Arc<str>,
    pub(crate) nonce: u64,
    /// The model as a JSON string, quotes included.
    pub(crate) model: String,
    /// Unix seconds.
    pub(crate) created: u64,
    pub(crate) tokens: u32,
    /// The client's token cap cut the answer.
    pub(crate) capped: bool,
    /// The tool to call, as a JSON string, quotes included.
    pub(crate) tool: Option<String>,
    pub(crate) include_usage: bool,
    pub(crate) input: u32,
    pub(crate) cached: u32,
}

impl Answer {
    /// The text of tokens `range`: each names the provider, this answer and its own place.
    pub(crate) fn text(&self, range: Range<u32>) -> String {
        let mut text = String::with_capacity(24 * range.len());
        for index in range {
            let _ = write!(text, "{}#{}:{index} ", self.provider, self.nonce);
        }
        text
    }

    /// An object id with this prefix, unique in the provider.
    pub(crate) fn id(&self, prefix: &str) -> String {
        format!("{prefix}{}{:08}", self.provider, self.nonce)
    }
}

/// How one endpoint writes an answer.
pub(crate) trait Wire: Sync {
    /// Frames that come with the headers and hold no generated token.
    fn prelude(&self, answer: &Answer) -> String;
    /// Frames of the tokens `range`.
    fn tokens(&self, answer: &Answer, range: Range<u32>) -> String;
    /// Frames after the last token: finish reason, usage, terminal event.
    fn epilogue(&self, answer: &Answer) -> String;
    /// The answer as one document.
    fn whole(&self, answer: &Answer) -> String;
}

#[cfg(test)]
mod tests;
