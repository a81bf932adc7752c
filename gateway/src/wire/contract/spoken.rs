//! The text of a streamed answer, kept so that its policy can be held against it when it has ended.
//!
//! Why it exists: a stream is committed at its first token, long before anybody can say whether its text satisfies a
//! schema. By then it has been relayed, so what is found is counted and written down, no more.
//!
//! Inputs: the data of each event, in order. Outputs: the texts that are the answer's last word, one per choice or message.
//! Invariants: at most [`KEPT_BYTES`] are kept; of an answer with more nothing is kept and nothing is judged; text is kept as
//! it is escaped, because an escape of two halves may lie in two events; nothing of it is ever shown (`Debug` is
//! redacted). Same rules as for whole answers: a choice that calls a tool or refuses has no text to be judged.
//! It refuses to keep reasoning, arguments of tools and words of refusals, and to judge.

use std::{collections::BTreeMap, fmt};

use super::super::dialect::Operation;
use super::super::json;

/// Most text that is kept of one stream, in bytes as they are escaped, with 64 for each choice or message: as much as may
/// be held of an attempt before its first token (`maxHeldBytes`), about 60,000 tokens.
pub const KEPT_BYTES: usize = 256 * 1024;
/// What a text costs besides its bytes, so that a million empty choices are no way round the limit.
const TEXT_COST: usize = 64;

/// The text of one streamed answer.
#[derive(Clone, Default)]
pub struct Spoken {
    /// By choice or item; `None` = it calls a tool or refuses.
    texts: BTreeMap<u64, Option<Vec<u8>>>,
    bytes: usize,
    /// Nothing of the answer is judged.
    over: bool,
}

impl fmt::Debug for Spoken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spoken").field("bytes", &self.bytes).field("over", &self.over).finish_non_exhaustive()
    }
}

impl Spoken {
    /// Reads the data of the next event.
    pub fn read(&mut self, operation: Operation, event: Option<&[u8]>, data: &[u8]) {
        if self.over {
            return;
        }
        match operation {
            Operation::ChatCompletions | Operation::Completions => {
                json::items(json::get(data, b"choices").unwrap_or_default())
                    .for_each(|choice| self.choice(choice));
            }
            Operation::Messages => self.block(kind(data).or(event).unwrap_or_default(), data),
            Operation::Responses => self.item(kind(data).or(event).unwrap_or_default(), data),
            Operation::Embeddings | Operation::CountTokens => {}
        }
    }

    /// The texts, in the order of their choices; `None` for one that is no text in JSON.
    pub fn texts(&self) -> impl Iterator<Item = Option<String>> {
        self.texts.values().flatten().map(|escaped| {
            let quoted = [&b"\""[..], escaped, b"\""].concat();
            serde_json::from_slice(&quoted).ok()
        })
    }

    fn choice(&mut self, choice: &[u8]) {
        let index = json::get(choice, b"index").and_then(json::count).unwrap_or(0);
        if let Some(text) = json::get(choice, b"text") {
            self.add(index, text);
        }
        for (key, value) in json::entries(json::get(choice, b"delta").unwrap_or_default()) {
            match key {
                b"content" if value.starts_with(b"[") => {
                    json::items(value).for_each(|part| self.part(index, part, b"text"));
                }
                b"content" => self.add(index, value),
                b"refusal" if value.starts_with(b"\"") => self.silence(index),
                b"function_call" if value.starts_with(b"{") => self.silence(index),
                b"tool_calls" if json::items(value).next().is_some() => self.silence(index),
                _ => {}
            }
        }
    }

    /// An event of Anthropic's: its blocks make one text.
    fn block(&mut self, kind: &[u8], data: &[u8]) {
        match kind {
            b"content_block_start" => {
                self.part(0, json::get(data, b"content_block").unwrap_or_default(), b"text");
            }
            b"content_block_delta" => {
                let delta = json::get(data, b"delta").unwrap_or_default();
                if let Some(text) = json::get(delta, b"text") {
                    self.add(0, text);
                }
            }
            _ => {}
        }
    }

    /// An event of Responses: one text per message; one call, and none is the last word.
    fn item(&mut self, kind: &[u8], data: &[u8]) {
        let index = json::get(data, b"output_index").and_then(json::count).unwrap_or(0);
        match kind.strip_prefix(b"response.").unwrap_or(kind) {
            b"output_text.delta" => self.add(index, json::get(data, b"delta").unwrap_or_default()),
            b"refusal.delta" => self.silence(index),
            name @ (b"output_item.added" | b"output_item.done") => {
                let item = json::get(data, b"item").unwrap_or_default();
                let kind = self::kind(item).unwrap_or_default();
                if kind.ends_with(b"_call") {
                    self.stop();
                } else if name.ends_with(b"done") && kind == b"message" && !self.texts.contains_key(&index) {
                    // Of a server that sends no deltas.
                    let parts = json::get(item, b"content").unwrap_or_default();
                    json::items(parts).for_each(|part| self.part(index, part, b"output_text"));
                }
            }
            _ => {}
        }
    }

    fn part(&mut self, index: u64, part: &[u8], wanted: &[u8]) {
        match kind(part).unwrap_or_default() {
            kind if kind == wanted => self.add(index, json::get(part, b"text").unwrap_or_default()),
            kind if kind == b"refusal" || kind.ends_with(b"tool_use") => self.silence(index),
            _ => {}
        }
    }

    /// Adds a string of JSON; anything else is no text.
    fn add(&mut self, index: u64, value: &[u8]) {
        let Some(inside) = json::inside(value) else { return };
        if self.charge(index, inside.len())
            && let Some(text) = self.texts.entry(index).or_insert_with(|| Some(Vec::new()))
        {
            text.extend_from_slice(inside);
        }
    }

    /// The text of this choice is not the last word.
    fn silence(&mut self, index: u64) {
        if self.charge(index, 0) {
            self.texts.insert(index, None);
        }
    }

    /// Whether there is room.
    fn charge(&mut self, index: u64, bytes: usize) -> bool {
        let text = if self.texts.contains_key(&index) { 0 } else { TEXT_COST };
        self.bytes += text + bytes;
        if self.bytes > KEPT_BYTES {
            self.stop();
        }
        !self.over
    }

    fn stop(&mut self) {
        self.over = true;
        self.texts = BTreeMap::new();
    }
}

fn kind(value: &[u8]) -> Option<&[u8]> {
    json::get(value, b"type").and_then(json::inside)
}

#[cfg(test)]
mod tests {
    use Operation::{ChatCompletions, Completions, Messages, Responses};

    use super::*;

    fn spoken(operation: Operation, events: &[&str]) -> Spoken {
        let mut spoken = Spoken::default();
        for data in events {
            spoken.read(operation, None, data.as_bytes());
        }
        spoken
    }

    fn texts(operation: Operation, events: &[&str]) -> Vec<Option<String>> {
        spoken(operation, events).texts().collect()
    }

    #[test]
    fn the_text_of_each_dialect_is_put_together_per_choice() {
        let cases: [(Operation, &[&str], &[&str]); 8] = [
            (
                ChatCompletions,
                &[
                    r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null}}]}"#,
                    r#"{"choices":[{"index":1,"delta":{"content":"{\"b\":"},"finish_reason":null}]}"#,
                    r#"{"choices":[{"index":0,"delta":{"content":"a\n\ud83d"}},{"index":1,"delta":{"content":"2}"}}]}"#,
                    r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm","content":"\ude42"}}]}"#,
                    r#"{"choices":[],"usage":{"prompt_tokens":1}}"#,
                ],
                &["a\n\u{1f642}", "{\"b\":2}"],
            ),
            (
                ChatCompletions,
                &[r#"{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"part"}]}}]}"#],
                &["part"],
            ),
            (
                Completions,
                &[r#"{"choices":[{"text":"le"}]}"#, r#"{"choices":[{"text":"gacy"}]}"#],
                &["legacy"],
            ),
            (
                Messages,
                &[
                    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"x"}}"#,
                    r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
                    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"one"}}"#,
                    r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":" two"}}"#,
                    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
                ],
                &["one two"],
            ),
            (
                Responses,
                &[
                    r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning"}}"#,
                    r#"{"type":"response.output_text.delta","output_index":1,"delta":"sa"}"#,
                    r#"{"type":"response.output_text.delta","output_index":1,"delta":"id"}"#,
                    r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","content":[{"type":"output_text","text":"said"}]}}"#,
                    r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"message","content":[{"type":"output_text","text":"at once"}]}}"#,
                ],
                &["said", "at once"],
            ),
            (ChatCompletions, &[r#"{"choices":[{"index":0,"delta":{"content":null}}]}"#], &[]),
            (Messages, &[r#"{"type":"ping"}"#], &[]),
            (Responses, &[r#"{"type":"response.completed","response":{"output":[]}}"#], &[]),
        ];
        for (operation, events, wanted) in cases {
            let found: Vec<_> = texts(operation, events).into_iter().map(Option::unwrap).collect();
            assert_eq!(found, wanted, "{operation:?}");
        }
    }

    #[test]
    fn what_calls_a_tool_or_refuses_has_no_text_yet() {
        for (operation, event) in [
            (
                ChatCompletions,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#,
            ),
            (ChatCompletions, r#"{"choices":[{"delta":{"function_call":{"name":"f"}}}]}"#),
            (ChatCompletions, r#"{"choices":[{"delta":{"refusal":"No"}}]}"#),
            (Messages, r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use"}}"#),
            (Messages, r#"{"type":"content_block_start","content_block":{"type":"server_tool_use"}}"#),
            (
                Responses,
                r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call"}}"#,
            ),
            (Responses, r#"{"type":"response.refusal.delta","delta":"No"}"#),
        ] {
            let said = match operation {
                Messages => r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"I will"}}"#,
                Responses => r#"{"type":"response.output_text.delta","output_index":0,"delta":"I will"}"#,
                _ => r#"{"choices":[{"delta":{"content":"I will"}}]}"#,
            };
            assert!(texts(operation, &[said, event]).is_empty(), "{event}");
            assert!(texts(operation, &[event, said]).is_empty(), "{event} first");
        }
    }

    #[test]
    fn more_than_is_kept_is_let_go_and_not_judged() {
        let piece = format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{}"}}}}]}}"#, "x".repeat(1_000));
        let mut long = Spoken::default();
        for pieces in 1..=KEPT_BYTES / 1_000 + 1 {
            long.read(ChatCompletions, None, piece.as_bytes());
            let fits = TEXT_COST + 1_000 * pieces <= KEPT_BYTES;
            assert_eq!((long.texts().count(), long.texts.len()), (fits.into(), fits.into()), "{pieces}");
        }

        let mut wide = Spoken::default();
        for index in 0..=KEPT_BYTES / TEXT_COST {
            let empty = format!(r#"{{"choices":[{{"index":{index},"delta":{{"content":""}}}}]}}"#);
            wide.read(ChatCompletions, None, empty.as_bytes());
            assert!(wide.texts.len() <= KEPT_BYTES / TEXT_COST);
        }
        assert_eq!(wide.texts().count(), 0);
    }

    #[test]
    fn nothing_of_a_text_is_shown() {
        let spoken = spoken(ChatCompletions, &[r#"{"choices":[{"delta":{"content":"secret"}}]}"#]);
        assert!(!format!("{spoken:?}").contains("secret"));
    }
}
