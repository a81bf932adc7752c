//! Plants words into what the cases send, so that whatever tells them can be caught.
//!
//! Inputs: a case. Outputs: the same with [`ANSWER`] in front of every text that a provider says, in contents, deltas and
//! error messages, and so in what is expected of the client's bytes. Text that is JSON itself, or the rest of it, stays as it
//! is, and so does empty text, which means something else. What the client sends is planted where it is written (`client`).

use hedgerow_tests::canary::ANSWER;

use crate::case::{Case, Step};

/// Keys whose values are words of a model or of its provider.
const KEYS: [&str; 5] = ["content", "text", "delta", "message", "reasoning_content"];

/// Plants a case.
pub fn case(case: &mut Case) {
    for step in case.routes.values_mut().flatten().flatten() {
        match step {
            Step::Send(said) | Step::Data(said) => *said = text(said),
            Step::Answer(head) => head.body = text(&head.body),
            _ => {}
        }
    }
    if let Some(body) = &mut case.expect.body {
        *body = text(body);
    }
}

/// Plants a piece of JSON or of an event stream.
pub fn text(said: &str) -> String {
    let mut planted = said.to_owned();
    for key in KEYS {
        let before = format!("\"{key}\":\"");
        let mut parts = planted.split(&before);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            out.push_str(&before);
            if !part.starts_with(['"', '{', '\\']) {
                out.push_str(ANSWER);
                out.push(' ');
            }
            out.push_str(part);
        }
        planted = out;
    }
    planted
}

#[test]
fn words_are_planted_in_text_and_not_in_what_is_empty_or_json() {
    for (said, planted) in [
        (r#"{"delta":{"content":"Hi"}}"#, r#"{"delta":{"content":"zq-answer-52c8 Hi"}}"#),
        (r#"{"content":"","text":"{\"a\":1}"}"#, r#"{"content":"","text":"{\"a\":1}"}"#),
        (r#"data: {"content":""#, r#"data: {"content":"zq-answer-52c8 "#),
    ] {
        assert_eq!(text(said), planted);
    }
}
