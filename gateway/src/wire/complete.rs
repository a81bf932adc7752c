//! Whether a whole, non-streamed answer keeps the contract.
//!
//! Why it exists: a 200 proves nothing. Proxies answer HTML, OpenRouter keeps 200 once a model has started and puts
//! the error into the body, broken servers send half an object. Such an attempt loses, and another may still win.
//!
//! Inputs: the bytes of a 2xx answer. Outputs: what it holds, or why it is none. Invariants: one walk over the whole and one over each part, no
//! allocation unless it is an error; an empty answer that says it finished is valid, because models may say nothing.
//! It refuses to judge content.

use super::dialect::Operation;
use super::error_body::{self, ErrorBody};
use super::json;
use super::usage::{Meter, Usage};

/// A valid answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer<'a> {
    /// What it cost.
    pub usage: Option<Usage>,
    /// The reason the model stopped, as the dialect spells it, of the first choice that has one.
    pub finish: Option<&'a [u8]>,
    /// Whether every part of the answer says that it is finished; operations without such a word always are.
    pub finished: bool,
}

/// Why an answer is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// No byte.
    #[error("the answer is empty")]
    Empty,
    /// A page for people.
    #[error("the answer is HTML; check the route's endpoint")]
    Html,
    /// Not one JSON object.
    #[error("the answer is not a JSON object")]
    NotJson,
    /// The part that holds the content is missing.
    #[error("the answer has no `{0}`")]
    Missing(&'static str),
    /// An error under a success status: to be classified like any other.
    #[error("the answer is an error")]
    Error(Box<ErrorBody>),
}

/// The parts of an answer, each empty when absent.
#[derive(Default)]
struct Parts<'a> {
    choices: &'a [u8],
    content: &'a [u8],
    output: &'a [u8],
    data: &'a [u8],
    usage: &'a [u8],
    status: &'a [u8],
    stop_reason: &'a [u8],
    input_tokens: &'a [u8],
}

/// Whether some bytes can be the beginning of a valid answer, for one that is too large to be checked.
pub fn begins(body: &[u8]) -> Result<(), Broken> {
    match body.trim_ascii_start().first() {
        None => Err(Broken::Empty),
        Some(b'{') => Ok(()),
        Some(b'<') => Err(Broken::Html),
        Some(_) => Err(Broken::NotJson),
    }
}

/// Checks an answer to `operation`.
pub fn check(operation: Operation, body: &[u8]) -> Result<Answer<'_>, Broken> {
    let body = body.trim_ascii();
    begins(body)?;
    let mut parts = Parts::default();
    let mut failed = false;
    let end = json::each(body, |key, value| match key {
        b"choices" => parts.choices = value,
        b"content" => parts.content = value,
        b"output" => parts.output = value,
        b"data" => parts.data = value,
        b"usage" => parts.usage = value,
        b"status" => parts.status = value,
        b"stop_reason" => parts.stop_reason = value,
        b"input_tokens" => parts.input_tokens = value,
        _ => failed |= error_body::says_error(key, value),
    });
    if end != Some(body.len()) {
        return Err(Broken::NotJson);
    }
    if failed {
        return Err(Broken::Error(Box::new(ErrorBody::parse(body).unwrap_or_default())));
    }
    let (finish, finished) = match operation {
        Operation::ChatCompletions => choices(parts.choices, b"message", "choices[].message")?,
        Operation::Completions => choices(parts.choices, b"text", "choices[].text")?,
        Operation::Messages => {
            let finish = json::inside(parts.stop_reason);
            need(parts.content.starts_with(b"["), "content").map(|()| (finish, finish.is_some()))?
        }
        Operation::Responses => {
            need(parts.output.starts_with(b"["), "output")?;
            let status = json::inside(parts.status);
            // A background job that waits or runs has answered what was asked.
            (status, matches!(status, Some(b"completed" | b"incomplete" | b"queued" | b"in_progress")))
        }
        Operation::Embeddings => {
            need(json::items(parts.data).next().is_some(), "data").map(|()| (None, true))?
        }
        Operation::CountTokens => {
            need(json::count(parts.input_tokens).is_some(), "input_tokens").map(|()| (None, true))?
        }
    };
    let mut meter = Meter::new(operation);
    meter.add(parts.usage);
    Ok(Answer { usage: meter.usage(), finish, finished })
}

fn need(there: bool, part: &'static str) -> Result<(), Broken> {
    if there { Ok(()) } else { Err(Broken::Missing(part)) }
}

fn choices<'a>(
    choices: &'a [u8],
    content: &[u8],
    part: &'static str,
) -> Result<(Option<&'a [u8]>, bool), Broken> {
    let (mut any, mut first, mut finished) = (false, None, true);
    for choice in json::items(choices) {
        need(json::present(choice, content).is_some(), part)?;
        let finish = json::get(choice, b"finish_reason").and_then(json::inside);
        any = true;
        first = first.or(finish);
        finished &= finish.is_some();
    }
    need(any, "choices").map(|()| (first, finished))
}

#[cfg(test)]
mod tests {
    use Operation::{ChatCompletions, Completions, CountTokens, Embeddings, Messages, Responses};

    use super::*;

    #[test]
    fn answers_that_keep_the_contract_pass() {
        for (operation, body, finish, finished) in [
            (
                ChatCompletions,
                "\n\n{\"choices\":[{\"message\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n",
                "stop",
                true,
            ),
            (
                ChatCompletions,
                r#"{"choices":[{"message":{"content":""},"finish_reason":"length"}]}"#,
                "length",
                true,
            ),
            (
                ChatCompletions,
                r#"{"choices":[{"message":{},"finish_reason":"stop"},{"message":{}}]}"#,
                "stop",
                false,
            ),
            (Completions, r#"{"choices":[{"text":"","finish_reason":"stop"}]}"#, "stop", true),
            (Messages, r#"{"type":"message","content":[],"stop_reason":"end_turn"}"#, "end_turn", true),
            (Messages, r#"{"type":"message","content":[],"stop_reason":null}"#, "", false),
            (Responses, r#"{"error":null,"output":[],"status":"completed"}"#, "completed", true),
            (Responses, r#"{"error":null,"output":[],"status":"queued"}"#, "queued", true),
            (Embeddings, r#"{"data":[{"embedding":[0.1]}],"usage":{"prompt_tokens":1}}"#, "", true),
            (CountTokens, r#"{"input_tokens":4}"#, "", true),
        ] {
            let answer =
                check(operation, body.as_bytes()).unwrap_or_else(|broken| panic!("{body}: {broken}"));
            assert_eq!(answer.finish.unwrap_or_default(), finish.as_bytes(), "{body}");
            assert_eq!(answer.finished, finished, "{body}");
        }
    }

    #[test]
    fn anything_else_is_broken() {
        for (operation, body, wanted) in [
            (ChatCompletions, " \n", Broken::Empty),
            (ChatCompletions, "<!doctype html>", Broken::Html),
            (ChatCompletions, "upstream timed out", Broken::NotJson),
            (ChatCompletions, r#"{"choices":[{"message":{"content":"x"#, Broken::NotJson),
            (ChatCompletions, r#"{"choices":[]}{}"#, Broken::NotJson),
            (ChatCompletions, "[]", Broken::NotJson),
            (ChatCompletions, "{}", Broken::Missing("choices")),
            (ChatCompletions, r#"{"choices":[]}"#, Broken::Missing("choices")),
            (ChatCompletions, r#"{"choices":[{"message":null}]}"#, Broken::Missing("choices[].message")),
            (Messages, r#"{"type":"message"}"#, Broken::Missing("content")),
            (Responses, r#"{"status":"completed"}"#, Broken::Missing("output")),
            (Embeddings, r#"{"data":[]}"#, Broken::Missing("data")),
            (CountTokens, r#"{"input_tokens":null}"#, Broken::Missing("input_tokens")),
        ] {
            assert_eq!(check(operation, body.as_bytes()), Err(wanted), "{body}");
        }
        for body in [
            r#"{"error":{"code":502}}"#,
            r#"{"error":"x"}"#,
            r#"{"type":"error","error":{"type":"api_error"}}"#,
        ] {
            assert!(matches!(check(Messages, body.as_bytes()), Err(Broken::Error(_))), "{body}");
        }
    }

    #[test]
    fn the_beginning_of_an_answer_tells_objects_from_streams_and_pages() {
        for (body, wanted) in [
            ("\n {\"choices\":[", Ok(())),
            ("  ", Err(Broken::Empty)),
            ("<html>", Err(Broken::Html)),
            ("data: {\"choices\":[", Err(Broken::NotJson)),
            ("[1, 2", Err(Broken::NotJson)),
        ] {
            assert_eq!(begins(body.as_bytes()), wanted, "{body}");
        }
    }

    #[test]
    fn usage_comes_with_the_answer() {
        let body = br#"{"choices":[{"message":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#;
        let usage = check(ChatCompletions, body).unwrap().usage.unwrap();
        assert_eq!((usage.input_uncached, usage.output), (Some(3), Some(4)));
    }
}
