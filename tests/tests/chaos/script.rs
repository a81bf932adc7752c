//! What a provider does with one request: drawn from the seed, so that the same run sends the same bytes.
//!
//! Inputs: seed, user action, route, and the how-manieth request of the action on the route. Outputs: the exact body, its
//! cuts, its pauses and its fault. Every piece of JSON carries the mark of its attempt, so that no byte of one attempt
//! can pass for one of another.

use std::ops::Range;

use fastrand::Rng;

use crate::canary::ANSWER;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Chat,
    Messages,
    Embeddings,
}

/// Everything that a script is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    pub seed: u64,
    /// Number of the user action.
    pub action: u32,
    /// Place of the route in [`crate::stand::ROUTES`].
    pub route: usize,
    /// Requests of this action that the route saw before.
    pub before: u32,
    /// The attempt's number in the book.
    pub mark: u32,
    pub operation: Operation,
    pub stream: bool,
    /// The upstream was asked for usage.
    pub usage: bool,
}

/// How an answer is spoilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// The connection breaks before a byte of the answer.
    Reset,
    /// Bytes that are no HTTP.
    Garbage,
    /// Never a byte.
    Hang,
    /// The body breaks here: reset.
    CutAt(usize),
    /// The body ends here, as if that were its end.
    EndAt(usize),
    /// Silence from here on.
    StallAt(usize),
    /// The transfer coding is broken here.
    BreakAt(usize),
    /// The connection is closed after the answer, which nobody announced.
    CloseAfter,
}

/// How the end of a body is told over HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    Chunked,
    Length,
    UntilClose,
}

/// What happens to one request.
#[derive(Clone, Debug)]
pub struct Script {
    pub status: u16,
    pub media: &'static str,
    /// `retry-after-ms`, where it is told.
    pub wait_ms: Option<u64>,
    pub body: Vec<u8>,
    /// The frame that holds nothing but usage.
    pub usage: Range<usize>,
    pub fault: Fault,
    pub framing: Framing,
    /// Milliseconds before the head.
    pub first_ms: u64,
    /// Ends of the pieces that are written, ascending, and milliseconds after each.
    pub pieces: Vec<(usize, u64)>,
}

impl Script {
    pub fn draw(cause: &Cause) -> Self {
        let mixed = (u64::from(cause.action) << 16) ^ ((cause.route as u64) << 8) ^ u64::from(cause.before);
        let mut rng = Rng::with_seed(cause.seed ^ mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut script = Self {
            status: 200,
            media: if cause.stream { "text/event-stream" } else { "application/json" },
            wait_ms: None,
            body: Vec::new(),
            usage: 0..0,
            fault: Fault::None,
            framing: Framing::Chunked,
            first_ms: first_ms(&mut rng),
            pieces: Vec::new(),
        };
        match cause.operation {
            Operation::Chat if cause.stream => chat(&mut script, cause, &mut rng),
            Operation::Messages if cause.stream => messages(&mut script, cause, &mut rng),
            _ => script.body = whole(cause, &mut rng).into_bytes(),
        }
        spoil(&mut script, cause, &mut rng);
        let framings: &[Framing] = if cause.stream {
            &[Framing::Chunked, Framing::Chunked, Framing::UntilClose]
        } else {
            &[Framing::Chunked, Framing::Length]
        };
        script.framing = *rng.choice(framings).unwrap();
        script.pieces = pieces(script.body.len(), &mut rng);
        script
    }

    /// What a client gets of the body: all of it, or all but the usage that it did not ask for.
    pub fn seen_by(&self, asked_for_usage: bool) -> Vec<u8> {
        let mut body = self.body.clone();
        if !asked_for_usage {
            body.drain(self.usage.clone());
        }
        body
    }
}

/// Mostly at once, sometimes after every hedge delay.
fn first_ms(rng: &mut Rng) -> u64 {
    match rng.u8(..) {
        0..200 => rng.u64(0..15),
        200..240 => rng.u64(40..160),
        _ => rng.u64(150..500),
    }
}

fn pieces(length: usize, rng: &mut Rng) -> Vec<(usize, u64)> {
    let mut at = 0;
    let mut pieces = Vec::new();
    while at < length {
        at = length.min(at + rng.usize(1..400));
        pieces.push((at, if rng.u8(..) < 50 { rng.u64(0..12) } else { 0 }));
    }
    pieces
}

fn spoil(script: &mut Script, cause: &Cause, rng: &mut Rng) {
    let length = script.body.len();
    match rng.u8(..) {
        0..5 => script.fault = Fault::Reset,
        5..8 => script.fault = Fault::Garbage,
        8..10 => script.fault = Fault::Hang,
        10..18 => script.fault = Fault::CutAt(rng.usize(0..length)),
        18..26 => script.fault = Fault::EndAt(rng.usize(0..length)),
        26..29 => script.fault = Fault::StallAt(rng.usize(0..length)),
        29..34 => script.fault = Fault::BreakAt(rng.usize(0..length)),
        34..39 => script.fault = Fault::CloseAfter,
        39..53 => refuse(script, cause, rng),
        53..57 => {
            script.media = "text/html";
            script.body = format!("<html><!-- {} --><h1>{ANSWER}</h1></html>", cause.mark).into_bytes();
            script.usage = 0..0;
        }
        57..60 => (script.body, script.usage) = (Vec::new(), 0..0),
        60..64 => {
            script.media = "application/json";
            script.body = error(cause, "server_error").into_bytes();
            script.usage = 0..0;
        }
        64..68 if cause.stream => {
            // An error in mid-stream takes the place of a frame.
            let borders = borders(&script.body);
            script.body.truncate(*rng.choice(&borders).unwrap());
            let end = script.body.len();
            script.usage = script.usage.start.min(end)..script.usage.end.min(end);
            let name = if cause.operation == Operation::Messages { "event: error\n" } else { "" };
            script.body.extend(format!("{name}data: {}\n\n", error(cause, "server_error")).bytes());
        }
        _ => {}
    }
}

/// Ends of the frames of a stream.
fn borders(body: &[u8]) -> Vec<usize> {
    let ends = |end: usize| body[..end].ends_with(b"\n\n") || body[..end].ends_with(b"\n\r\n");
    (0..=body.len()).filter(|end| ends(*end)).collect()
}

fn refuse(script: &mut Script, cause: &Cause, rng: &mut Rng) {
    // One request in a thousand asks for a wait: a route then rests for a second, whatever it asked for.
    let (status, code) = match rng.u16(..) {
        0..400 => (429, "rate_limit_exceeded"),
        400..800 => (503, "server_is_overloaded"),
        800..1_200 => (529, "overloaded_error"),
        1_200..51_200 => (500, "server_error"),
        _ => (400, "invalid_request_error"),
    };
    script.status = status;
    script.media = "application/json";
    script.wait_ms = (status != 500 && status != 400).then(|| rng.u64(1..10));
    script.body = error(cause, code).into_bytes();
    script.usage = 0..0;
}

fn error(cause: &Cause, code: &str) -> String {
    let mark = cause.mark;
    format!(
        r#"{{"type":"error","error":{{"type":"{code}","code":"{code}","message":"{ANSWER} said no","mark":"{mark}"}},"mark":"{mark}"}}"#
    )
}

/// Text of one token, with characters of several bytes in it.
fn token(cause: &Cause, index: usize) -> String {
    format!("{ANSWER} {}:{index} h\u{e9}\u{754c}\u{1f642} ", cause.mark)
}

fn comment(script: &mut Script, rng: &mut Rng) {
    if rng.u8(..) < 40 {
        script.body.extend(b": keep-alive\n\n");
    }
}

fn chat(script: &mut Script, cause: &Cause, rng: &mut Rng) {
    let mark = cause.mark;
    let end = if rng.bool() { "\n\n" } else { "\r\n\r\n" };
    let frame = |script: &mut Script, rest: &str| {
        script.body.extend(format!("data: {{\"id\":\"x\",\"mark\":\"{mark}\",{rest}}}{end}").bytes());
    };
    frame(script, r#""choices":[{"index":0,"delta":{"role":"assistant","content":""}}]"#);
    comment(script, rng);
    for index in 0..rng.usize(1..9) {
        let text = token(cause, index);
        frame(
            script,
            &format!(r#""choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}]"#),
        );
    }
    frame(script, r#""choices":[{"index":0,"delta":{},"finish_reason":"stop"}]"#);
    if cause.usage {
        let start = script.body.len();
        frame(script, r#""choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}"#);
        script.usage = start..script.body.len();
    }
    script.body.extend(format!("data: [DONE]{end}").bytes());
}

fn messages(script: &mut Script, cause: &Cause, rng: &mut Rng) {
    let mark = cause.mark;
    let frame = |script: &mut Script, kind: &str, rest: &str| {
        script.body.extend(
            format!("event: {kind}\ndata: {{\"type\":\"{kind}\",\"mark\":\"{mark}\"{rest}}}\n\n").bytes(),
        );
    };
    frame(
        script,
        "message_start",
        r#","message":{"id":"x","content":[],"usage":{"input_tokens":9,"output_tokens":1}}"#,
    );
    comment(script, rng);
    frame(script, "content_block_start", r#","index":0,"content_block":{"type":"text","text":""}"#);
    frame(script, "ping", "");
    for index in 0..rng.usize(1..9) {
        let text = token(cause, index);
        frame(
            script,
            "content_block_delta",
            &format!(r#","index":0,"delta":{{"type":"text_delta","text":"{text}"}}"#),
        );
    }
    frame(script, "content_block_stop", r#","index":0"#);
    frame(script, "message_delta", r#","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}"#);
    frame(script, "message_stop", "");
}

fn whole(cause: &Cause, rng: &mut Rng) -> String {
    let mark = cause.mark;
    let text: String = (0..rng.usize(1..9)).map(|index| token(cause, index)).collect();
    match cause.operation {
        Operation::Chat => format!(
            r#"{{"mark":"{mark}","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":9,"completion_tokens":4}}}}"#
        ),
        Operation::Messages => format!(
            r#"{{"mark":"{mark}","type":"message","role":"assistant","content":[{{"type":"text","text":"{text}"}}],"stop_reason":"end_turn","usage":{{"input_tokens":9,"output_tokens":4}}}}"#
        ),
        Operation::Embeddings => format!(
            r#"{{"mark":"{mark}","object":"list","data":[{{"object":"embedding","index":0,"embedding":[0.25,0.5]}}],"model":"{ANSWER}","usage":{{"prompt_tokens":9,"total_tokens":9}}}}"#
        ),
    }
}
