//! What is asked: a class of like requests, and the bytes of each.

use std::{fmt::Write as _, str::FromStr, time::Duration};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, header};
use http_body_util::Full;
use serde::{Deserialize, Serialize};

/// Dialect and form of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RequestKind {
    /// `/v1/chat/completions`, streamed.
    ChatStream,
    /// `/v1/chat/completions`, one document.
    ChatJson,
    /// `/v1/messages`, streamed.
    MessagesStream,
    /// `/v1/messages`, one document.
    MessagesJson,
}

impl RequestKind {
    /// Whether the answer comes as events.
    pub fn streams(self) -> bool {
        matches!(self, Self::ChatStream | Self::MessagesStream)
    }

    fn is_chat(self) -> bool {
        matches!(self, Self::ChatStream | Self::ChatJson)
    }
}

impl FromStr for RequestKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "chat-stream" => Ok(Self::ChatStream),
            "chat-json" => Ok(Self::ChatJson),
            "messages-stream" => Ok(Self::MessagesStream),
            "messages-json" => Ok(Self::MessagesJson),
            _ => Err(format!(
                "`{text}` is no kind; use chat-stream, chat-json, messages-stream or messages-json"
            )),
        }
    }
}

/// A class of requests that are measured together.
#[derive(Debug, Clone)]
pub struct TrafficClass {
    /// Name in the results.
    pub name: String,
    /// Dialect and form.
    pub kind: RequestKind,
    /// Public model name.
    pub model: String,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// Client key: `Authorization: Bearer` or `x-api-key`.
    pub api_key: Option<String>,
    /// Length of the prompts in bytes; every prompt differs from every other.
    pub prompt_bytes: usize,
    /// Token cap; Anthropic requests need one and get 1024 without.
    pub max_tokens: Option<u32>,
    /// Text put into every prompt, such as a [`Marker`](crate::Marker).
    pub order: String,
    /// A function tool that the model may call.
    pub tools: bool,
    /// Time after which a try is given up.
    pub timeout: Duration,
}

impl TrafficClass {
    /// A class with prompts of 200 bytes and a time-out of 120 s.
    pub fn new(name: &str, kind: RequestKind, model: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            model: model.to_owned(),
            headers: Vec::new(),
            api_key: None,
            prompt_bytes: 200,
            max_tokens: None,
            order: String::new(),
            tools: false,
            timeout: Duration::from_mins(2),
        }
    }

    /// The request number `sequence`, in its try number `retry` (0 = first).
    ///
    /// # Errors
    /// A header that cannot be sent.
    pub fn request(&self, sequence: u64, retry: u32) -> Result<Request<Full<Bytes>>, http::Error> {
        let path = if self.kind.is_chat() { "/v1/chat/completions" } else { "/v1/messages" };
        let mut builder = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json")
            .header("x-stainless-retry-count", retry);
        if !self.kind.is_chat() {
            builder = builder.header("anthropic-version", "2023-06-01");
        }
        if let Some(key) = &self.api_key {
            builder = if self.kind.is_chat() {
                builder.header(header::AUTHORIZATION, format!("Bearer {key}"))
            } else {
                builder.header("x-api-key", key)
            };
        }
        for (name, value) in &self.headers {
            builder = builder.header(HeaderName::from_str(name)?, HeaderValue::from_str(value)?);
        }
        builder.body(Full::new(Bytes::from(self.body(sequence))))
    }

    fn body(&self, sequence: u64) -> String {
        let stream = self.kind.streams();
        let mut body = serde_json::json!({
            "model": self.model,
            "messages": [{"role": "user", "content": self.prompt(sequence)}],
            "stream": stream,
        });
        if self.kind.is_chat() && stream {
            body["stream_options"] = serde_json::json!({"include_usage": true});
        }
        if let Some(most) = self.max_tokens.or((!self.kind.is_chat()).then_some(1024)) {
            body["max_tokens"] = most.into();
        }
        if self.tools {
            let schema = serde_json::json!({"type": "object", "properties": {"text": {"type": "string"}}});
            body["tools"] = if self.kind.is_chat() {
                serde_json::json!([{"type": "function", "function": {"name": "look_up", "parameters": schema}}])
            } else {
                serde_json::json!([{"name": "look_up", "input_schema": schema}])
            };
        }
        body.to_string()
    }

    fn prompt(&self, sequence: u64) -> String {
        let mut prompt = format!("{} {sequence} {}", self.name, self.order);
        let mut word = 0_u64;
        while prompt.len() < self.prompt_bytes {
            let _ = write!(prompt, " word{}", (sequence + word) % 97);
            word += 1;
        }
        prompt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_prompts_are_the_same_and_all_have_their_size() {
        let class =
            TrafficClass { prompt_bytes: 4000, ..TrafficClass::new("c", RequestKind::ChatStream, "m") };
        let prompts: std::collections::HashSet<String> = (0..500).map(|n| class.prompt(n)).collect();
        assert_eq!(prompts.len(), 500);
        assert!(prompts.iter().all(|prompt| (4000..4020).contains(&prompt.len())));
    }

    #[test]
    fn a_request_is_what_its_dialect_wants() {
        let mut class = TrafficClass::new("c", RequestKind::MessagesJson, "m");
        class.api_key = Some("k".into());
        let request = class.request(1, 2).unwrap();
        assert_eq!(request.uri(), "/v1/messages");
        assert_eq!(request.headers()["x-api-key"], "k");
        assert_eq!(request.headers()["x-stainless-retry-count"], "2");
        assert!(class.body(1).contains(r#""max_tokens":1024"#));
        class.headers.push(("bad header".into(), "x".into()));
        assert!(class.request(1, 0).is_err());
    }
}
