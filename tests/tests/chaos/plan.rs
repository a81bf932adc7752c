//! What a client asks for and when it leaves: drawn from the seed and the number of the user action.

use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use http_body_util::Full;
use hyper::Request;
use serde_json::{Value, json};

use crate::{
    canary::{CLIENT_KEY, PROMPT, USER},
    script::Operation,
    stand::TENANTS,
};

/// The header in which a client says how many bytes its body has, for whoever counts tokens by them.
pub const SIZE: &str = "x-size";

/// One user action.
#[derive(Clone, Debug)]
pub struct Plan {
    pub number: u32,
    pub operation: Operation,
    pub stream: bool,
    /// The client asks for usage itself.
    pub usage: bool,
    /// It says that it tries again.
    pub retry: bool,
    /// It leaves after so long.
    pub patience: Option<Duration>,
    /// It leaves once it has so many bytes.
    pub enough: Option<usize>,
    /// It takes its time between two reads.
    pub slow: bool,
    tool: bool,
    narrow: bool,
    tenant: &'static str,
}

impl Plan {
    pub fn draw(seed: u64, number: u32) -> Self {
        let mut rng = Rng::with_seed(seed.rotate_left(32) ^ u64::from(number));
        let operation = match rng.u8(..) {
            0..150 => Operation::Chat,
            150..235 => Operation::Messages,
            _ => Operation::Embeddings,
        };
        let leaves = rng.u8(..);
        Self {
            number,
            operation,
            stream: operation != Operation::Embeddings && rng.u8(..) < 170,
            usage: rng.bool(),
            retry: rng.u8(..) < 8,
            patience: (leaves < 20).then(|| Duration::from_millis(rng.u64(0..150))),
            enough: (20..40).contains(&leaves).then(|| rng.usize(0..2_000)),
            slow: rng.u8(..) < 8,
            tool: rng.u8(..) < 20,
            narrow: rng.u8(..) < 25,
            tenant: rng.choice(TENANTS).unwrap(),
        }
    }

    /// The id that the client gives its action.
    pub fn id(&self) -> String {
        format!("chaos-{}", self.number)
    }

    pub fn request(&self, authority: &str, version: hyper::Version) -> Request<Full<Bytes>> {
        let path = match self.operation {
            Operation::Chat => "/v1/chat/completions",
            Operation::Messages => "/v1/messages",
            Operation::Embeddings => "/v1/embeddings",
        };
        let uri = if version == hyper::Version::HTTP_2 {
            format!("http://{authority}{path}")
        } else {
            path.to_owned()
        };
        let mut request = Request::post(uri)
            .version(version)
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {CLIENT_KEY}-{}", self.tenant))
            .header("x-hedgerow-action", self.id())
            .header("cookie", USER)
            .header("x-end-user", USER);
        if version != hyper::Version::HTTP_2 {
            request = request.header("host", authority);
        }
        if self.retry {
            request = request.header("x-stainless-retry-count", "1");
        }
        if self.narrow {
            request = request.header("x-lane", "narrow");
        }
        let body = self.body().to_string();
        request.header(SIZE, body.len()).body(Full::from(body)).unwrap()
    }

    fn body(&self) -> Value {
        let prompt = format!("{PROMPT} action-{} and no more", self.number);
        let messages = json!([{ "role": "user", "content": prompt }]);
        let mut body = match self.operation {
            Operation::Chat => json!({ "model": "m", "messages": messages, "user": USER }),
            Operation::Messages => {
                json!({ "model": "m", "max_tokens": 64, "messages": messages, "metadata": { "user_id": USER } })
            }
            Operation::Embeddings => json!({ "model": "m", "input": prompt, "user": USER }),
        };
        if self.stream {
            body["stream"] = true.into();
        }
        if self.stream && self.usage && self.operation == Operation::Chat {
            body["stream_options"] = json!({ "include_usage": true });
        }
        if self.tool && self.operation == Operation::Chat {
            body["tools"] =
                json!([{ "type": "function", "function": { "name": "weather", "parameters": {} } }]);
        }
        body
    }
}
