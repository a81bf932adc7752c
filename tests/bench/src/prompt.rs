//! Request bodies of a given size: prose, and code, whose quotes and line ends are escapes in JSON.

use serde_json::json;

const PROSE: &str = "The hedgerow kept the wind from the field, and what grew in its lee grew twice as tall; nobody \
    who walked the lane in summer would have guessed how bare the hill had been. ";
/// Real code, because what a scan meets in it (quotes, backslashes, braces inside strings) is not what one would invent.
const CODE: &str = include_str!("drive.rs");

/// A chat request of about `bytes` bytes.
pub fn chat(bytes: usize, code: bool, stream: bool) -> Vec<u8> {
    let text = if code { CODE } else { PROSE };
    // What is escaped counts as it is written.
    let written = |text: &str| json!(text).to_string().len();
    let mut content = String::new();
    while written(&content) + written(text) < bytes {
        content.push_str(text);
    }
    let left = bytes.saturating_sub(written(&content) + 140);
    content.extend(text.chars().take(left));
    let body = json!({
        "model": "bench",
        "messages": [
            { "role": "system", "content": "You are a helpful assistant." },
            { "role": "user", "content": content },
        ],
        "max_tokens": 256,
        "stream": stream,
    });
    body.to_string().into_bytes()
}
