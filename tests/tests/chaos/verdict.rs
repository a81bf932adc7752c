//! Whether an answer may be as it is: bytes of one attempt only, in order, and nothing but what the provider sent.

use std::collections::BTreeSet;

use crate::{
    book::Book,
    client::Answer,
    plan::Plan,
    script::{Fault, Script},
    stand::ROUTES,
};

/// What an answer was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Whole.
    Whole,
    /// Begun and visibly cut.
    Cut,
    /// An error of a provider.
    Refused,
    /// An error of the gateway.
    Failed,
}

/// Judges an answer; an error says what is wrong with it.
pub fn judge(plan: &Plan, answer: &Answer, book: &Book) -> Result<Verdict, String> {
    let header = |name: &str| answer.headers.get(name).map_or("", |value| value.to_str().unwrap_or("?"));
    if header("x-hedgerow-action") != plan.id() || header("x-request-id").is_empty() {
        return Err("it does not say whose it is".to_owned());
    }
    if header("x-hedgerow-lane").is_empty() || !matches!(header("x-hedgerow-attempts"), "0" | "1" | "2" | "3")
    {
        return Err("it does not say what was done".to_owned());
    }
    let marks = marks(&answer.body);
    if marks.len() > 1 {
        return Err(format!("bytes of the attempts {marks:?}"));
    }
    let Some(mark) = marks.first() else { return unmarked(plan, answer) };
    let cause = book.attempt(*mark).ok_or("a mark that nobody wrote")?;
    if cause.action != plan.number {
        return Err(format!("the answer of action {}", cause.action));
    }
    if header("x-hedgerow-route") != ROUTES[cause.route].name {
        return Err(format!(
            "route {:?} instead of {}",
            header("x-hedgerow-route"),
            ROUTES[cause.route].name
        ));
    }
    let script = Script::draw(&cause);
    let sent = script.seen_by(plan.usage || !cause.usage);
    if answer.status != 200 {
        // An error inside a stream is told as JSON: the event's data, without its frame.
        let whole = sent == answer.body || contains(&sent, &answer.body);
        return if whole { Ok(Verdict::Refused) } else { Err("not the words of the provider".to_owned()) };
    }
    let own = own_frame(&answer.body);
    let passed = &answer.body[..own.unwrap_or(answer.body.len())];
    // Half an event is ended before our own is written, or the client would take both for one.
    let trimmed = if own.is_some() { trim_end(passed) } else { passed };
    if !sent.starts_with(trimmed) {
        return Err("not the bytes of the provider".to_owned());
    }
    match (own.is_some(), answer.ended) {
        (true, true) => Err("an error frame and then a clean end".to_owned()),
        (true, false) => Ok(Verdict::Cut),
        // The last word may lack its line ends, two of at most two bytes.
        (false, _) if sent.len() - passed.len() <= 4 && trim_end(&sent[passed.len()..]).is_empty() => {
            Ok(Verdict::Whole)
        }
        (false, true) => Err("a clean end before the end".to_owned()),
        (false, false) if matches!(script.fault, Fault::None | Fault::CloseAfter) => {
            Err("cut without a cause and without a word".to_owned())
        }
        (false, false) => Err("cut without a word".to_owned()),
    }
}

/// An answer without a byte of any provider.
fn unmarked(plan: &Plan, answer: &Answer) -> Result<Verdict, String> {
    if answer.status == 200 {
        // With no second attempt possible a stream is committed at its head, so the cut may come first.
        let cut = plan.stream && !answer.ended && own_frame(&answer.body).is_some();
        return if cut { Ok(Verdict::Cut) } else { Err("an answer of nobody".to_owned()) };
    }
    let told: serde_json::Value = serde_json::from_slice(&answer.body).map_err(|error| error.to_string())?;
    let kind = told["error"]["type"].as_str().unwrap_or_default();
    if kind.starts_with("gateway_") { Ok(Verdict::Failed) } else { Err("an error of nobody".to_owned()) }
}

fn marks(body: &[u8]) -> BTreeSet<u32> {
    const OPEN: &[u8] = b"\"mark\":\"";
    let mut found = BTreeSet::new();
    for at in body.windows(OPEN.len()).enumerate().filter(|(_, window)| *window == OPEN).map(|(at, _)| at) {
        let digits: String = body[at + OPEN.len()..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .map(|byte| *byte as char)
            .collect();
        // A mark that is itself cut proves nothing.
        if body.get(at + OPEN.len() + digits.len()) == Some(&b'"') {
            found.extend(digits.parse::<u32>());
        }
    }
    found
}

/// Where the gateway's own error frame begins.
fn own_frame(body: &[u8]) -> Option<usize> {
    let kind = find(body, b"\"gateway_")?;
    let before = &body[..kind];
    let data = before.windows(6).rposition(|window| window == b"data: ")?;
    let event = b"event: error\n";
    Some(if before[..data].ends_with(event) { data - event.len() } else { data })
}

fn trim_end(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'));
    &bytes[..end.map_or(0, |at| at + 1)]
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && find(bytes, part).is_some()
}
