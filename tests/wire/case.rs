//! What a case file says.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// One case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Row of the list of reports, with a letter when a row has several.
    pub id: String,
    /// What must hold, as a sentence.
    pub about: String,
    /// Where it was reported; ours when empty.
    #[serde(default = "ours")]
    pub report: String,
    /// What the client asks for.
    #[serde(default)]
    pub request: Request,
    /// Scripts by route, `a` before `b`: one list of steps per request that the provider will see.
    pub routes: BTreeMap<String, Vec<Vec<Step>>>,
    /// Merged into each route of the configuration.
    #[serde(default)]
    pub route: Value,
    /// Merged into the settings of the configuration.
    #[serde(default)]
    pub settings: Value,
    /// Lanes of the configuration; `null` = the built-in one.
    #[serde(default)]
    pub lanes: Value,
    /// Hedge after so many milliseconds.
    pub hedge_ms: Option<u64>,
    /// What must be seen.
    pub expect: Expect,
}

fn ours() -> String {
    "our own".to_owned()
}

/// A request of the client.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// Path.
    pub path: String,
    /// Whether to stream.
    pub stream: bool,
    /// Merged into the body.
    pub body: Value,
    /// More headers.
    pub headers: BTreeMap<String, String>,
    /// Hang up as soon as this text has been received.
    pub leave_after: Option<String>,
    /// Hang up this many milliseconds after asking.
    pub leave_ms: Option<u64>,
    /// So many more letters in the prompt.
    pub pad: usize,
    /// So many others ask the same before, and wait for their answers until this one is there.
    pub beside: usize,
    /// Ask so often, one after the other; the last answer counts.
    pub times: usize,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            path: "/v1/chat/completions".to_owned(),
            stream: true,
            body: Value::Null,
            headers: BTreeMap::new(),
            leave_after: None,
            leave_ms: None,
            pad: 0,
            beside: 0,
            times: 1,
        }
    }
}

/// One thing that a provider does.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Status line and headers of a chunked answer.
    Head(Head),
    /// A whole answer with its length.
    Answer(Head),
    /// Bytes, as one chunk.
    Send(String),
    /// Bytes given as hexadecimal digits, as one chunk: for parts of characters.
    Hex(String),
    /// `data: <text>` and a blank line, as one chunk.
    Data(String),
    /// Bytes outside of any answer, as they are: a status line, pieces of a head.
    Raw(String),
    /// Headers without end, so many, each of 64 letters, with so many milliseconds before each.
    Headers(usize, u64),
    /// So many letters, in chunks of 16 KiB.
    Fill(usize),
    /// From here on, chunks of at most so many bytes.
    Split(usize),
    /// A pause of the provider.
    Ms(u64),
    /// The proper end of a chunked answer.
    End,
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
    /// Nothing more, until the gateway hangs up.
    Never,
}

/// Status, headers and, for whole answers, the body.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Head {
    /// Status.
    pub status: u16,
    /// Content type.
    #[serde(rename = "type")]
    pub media: String,
    /// More headers.
    pub headers: BTreeMap<String, String>,
    /// Body.
    pub body: String,
}

impl Default for Head {
    fn default() -> Self {
        Self {
            status: 200,
            media: "text/event-stream".to_owned(),
            headers: BTreeMap::new(),
            body: String::new(),
        }
    }
}

/// What must be seen.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Status at the client.
    pub status: u16,
    /// The client's body is exactly what this route sent last.
    pub same_as: Option<String>,
    /// The client's body is exactly this.
    pub body: Option<String>,
    /// Parts of the client's body, in this order.
    pub contains: Vec<String>,
    /// What must not be in the client's body.
    pub lacks: Vec<String>,
    /// The body was broken off instead of ended.
    pub aborted: bool,
    /// Headers at the client; an empty value means absent.
    pub headers: BTreeMap<String, String>,
    /// All `x-hedgerow-*` headers at the client, without their prefix; `*` is an id of ours.
    pub hedgerow: Option<BTreeMap<String, String>>,
    /// The request was no HTTP, so the answer comes from the parser and has no headers of ours.
    pub bare: bool,
    /// Requests that each provider saw; routes that are not named were never asked.
    pub attempts: BTreeMap<String, usize>,
    /// Providers that saw the gateway hang up before they had finished.
    pub hung_up: Vec<String>,
    /// Samples of `/metrics`: name and labels in any order, to the value.
    pub metrics: BTreeMap<String, f64>,
    /// Samples of `/metrics` that must be above zero.
    pub above_zero: Vec<String>,
    /// Parts of what the provider of a route received.
    pub received: BTreeMap<String, Vec<String>>,
    /// What the provider of a route must not have received.
    pub withheld: BTreeMap<String, Vec<String>>,
}

impl Default for Expect {
    fn default() -> Self {
        Self {
            status: 200,
            same_as: None,
            body: None,
            contains: Vec::new(),
            lacks: Vec::new(),
            aborted: false,
            headers: BTreeMap::new(),
            hedgerow: None,
            bare: false,
            attempts: BTreeMap::new(),
            hung_up: Vec::new(),
            metrics: BTreeMap::new(),
            above_zero: Vec::new(),
            received: BTreeMap::new(),
            withheld: BTreeMap::new(),
        }
    }
}
