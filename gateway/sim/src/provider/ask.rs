//! What one request asks for: the few fields of its body that change a scripted answer.
//!
//! In: endpoint and body bytes. Out: an [`Ask`] or a reason for 400. The prompt itself is only measured, hashed
//! and searched for markers; it is not kept.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    dialect::{Encoding, Endpoint},
    profile::{Marker, MarkerError},
};

/// Characters of English text per token, the usual rule of thumb.
const BYTES_PER_TOKEN: usize = 4;
/// Most components of an embedding.
const MOST_DIMENSIONS: usize = 4096;

#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) tool: Option<String>,
    pub(crate) input_tokens: u32,
    /// FNV-1a of all prompt text: the same at every provider.
    pub(crate) fingerprint: u64,
    pub(crate) marker: Marker,
    pub(crate) inputs: usize,
    pub(crate) dimensions: usize,
    pub(crate) encoding: Encoding,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    #[error("the body is not a request of this endpoint: {0}")]
    Json(#[from] serde_json::Error),
    #[error("you must provide a model parameter")]
    NoModel,
    #[error("`max_tokens` is required")]
    NoMaxTokens,
    #[error("scripted providers answer one choice: leave `n` away")]
    ManyChoices,
    #[error("scripted providers call tools in chat completions and messages only")]
    NoToolsHere,
    #[error("`status` of a marker must be between 400 and 599")]
    MarkerStatus,
    #[error(transparent)]
    Marker(#[from] MarkerError),
}

#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    #[serde(default)]
    stream: bool,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    max_output_tokens: Option<u32>,
    n: Option<u32>,
    dimensions: Option<usize>,
    encoding_format: Option<Encoding>,
    #[serde(default)]
    system: Value,
    #[serde(default)]
    messages: Value,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    prompt: Value,
    #[serde(default)]
    tools: Vec<Value>,
    #[serde(default)]
    tool_choice: Value,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

impl Ask {
    /// Reads the body of a request to `endpoint`; `deployment` names the model where the path does.
    pub(crate) fn read(
        endpoint: Endpoint,
        deployment: Option<&str>,
        body: &[u8],
        provider: &str,
    ) -> Result<Self, AskError> {
        let body: Body = serde_json::from_slice(body)?;
        let mut prompt = Prompt { provider, bytes: 0, hash: FNV_OFFSET, marker: Marker::default() };
        for part in [&body.system, &body.messages, &body.input, &body.prompt] {
            prompt.read(part)?;
        }
        let marker = prompt.marker;
        if body.n.is_some_and(|n| n > 1) {
            return Err(AskError::ManyChoices);
        }
        if endpoint == Endpoint::Messages && body.max_tokens.is_none() {
            return Err(AskError::NoMaxTokens);
        }
        if marker.status.is_some_and(|status| !(400..600).contains(&status)) {
            return Err(AskError::MarkerStatus);
        }
        if marker.tool.is_some() && !endpoint.calls_tools() {
            return Err(AskError::NoToolsHere);
        }
        let forced = if endpoint.calls_tools() { forced_tool(&body.tool_choice, &body.tools) } else { None };
        Ok(Self {
            model: deployment.map(str::to_owned).or(body.model).ok_or(AskError::NoModel)?,
            stream: body.stream,
            include_usage: body.stream_options.is_some_and(|options| options.include_usage),
            max_tokens: body.max_completion_tokens.or(body.max_output_tokens).or(body.max_tokens),
            tool: marker.tool.clone().or(forced),
            input_tokens: marker.input_tokens.unwrap_or(prompt.bytes.div_ceil(BYTES_PER_TOKEN).max(1) as u32),
            fingerprint: prompt.hash,
            marker,
            inputs: body
                .input
                .as_array()
                .filter(|list| !list.iter().all(Value::is_number))
                .map_or(1, Vec::len),
            dimensions: body.dimensions.unwrap_or(8).clamp(1, MOST_DIMENSIONS),
            encoding: body.encoding_format.unwrap_or(Encoding::Float),
        })
    }
}

/// The tool that the request insists on.
fn forced_tool(choice: &Value, tools: &[Value]) -> Option<String> {
    let first = || {
        let tool = tools.first()?;
        tool["function"]["name"].as_str().or(tool["name"].as_str())
    };
    let name = match (choice.as_str(), choice["type"].as_str()) {
        (Some("required"), _) | (None, Some("any")) => first(),
        (None, Some("function")) => choice["function"]["name"].as_str(),
        (None, Some("tool")) => choice["name"].as_str(),
        _ => None,
    };
    name.map(str::to_owned)
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Walks every string of a prompt.
struct Prompt<'a> {
    provider: &'a str,
    bytes: usize,
    hash: u64,
    marker: Marker,
}

impl Prompt<'_> {
    fn read(&mut self, value: &Value) -> Result<(), MarkerError> {
        match value {
            Value::String(text) => {
                self.bytes += text.len();
                for byte in text.bytes() {
                    self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
                }
                self.marker.absorb(text, self.provider)
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.read(item)),
            Value::Object(fields) => fields.values().try_for_each(|field| self.read(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(endpoint: Endpoint, body: &str) -> Result<Ask, AskError> {
        Ask::read(endpoint, None, body.as_bytes(), "a")
    }

    #[test]
    fn texts_are_measured_wherever_they_stand() {
        let plain =
            read(Endpoint::Chat, r#"{"model":"m","messages":[{"role":"user","content":"12345678"}]}"#);
        let parts = read(
            Endpoint::Chat,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"12345678"}]}]}"#,
        );
        assert_eq!(plain.unwrap().input_tokens, 3, "role and text are 12 bytes");
        assert_eq!(parts.unwrap().input_tokens, 4);
    }

    #[test]
    fn a_tool_is_called_only_when_the_request_insists() {
        let tools = r#""tools":[{"type":"function","function":{"name":"look_up"}}]"#;
        for (choice, called) in [
            (r#""auto""#, None),
            (r#""none""#, None),
            (r#""required""#, Some("look_up")),
            (r#"{"type":"function","function":{"name":"other"}}"#, Some("other")),
        ] {
            let body = format!(r#"{{"model":"m",{tools},"tool_choice":{choice}}}"#);
            assert_eq!(read(Endpoint::Chat, &body).unwrap().tool.as_deref(), called, "{choice}");
        }
        let body = r#"{"model":"m","max_tokens":9,"tools":[{"name":"t","input_schema":{}}],"tool_choice":{"type":"any"}}"#;
        assert_eq!(read(Endpoint::Messages, body).unwrap().tool.as_deref(), Some("t"));
    }

    #[test]
    fn incomplete_requests_are_refused_with_the_reason() {
        for (endpoint, body, says) in [
            (Endpoint::Chat, "{", "not a request"),
            (Endpoint::Chat, "{}", "model"),
            (Endpoint::Messages, r#"{"model":"m"}"#, "max_tokens"),
            (Endpoint::Chat, r#"{"model":"m","n":2}"#, "`n`"),
            (Endpoint::Chat, r#"{"model":"m","messages":"@sim {\"status\":200} @"}"#, "400"),
            (Endpoint::Responses, r#"{"model":"m","input":"@sim {\"tool\":\"x\"} @"}"#, "tools"),
        ] {
            let error = read(endpoint, body).unwrap_err().to_string();
            assert!(error.contains(says), "{body}: {error}");
        }
    }
}
