//! Words that must stay where they belong, planted in every secret, prompt and answer.
//!
//! Why: neither logs nor records nor metrics may carry a byte of a prompt, an answer or a key. Inputs: everything that
//! the gateway wrote. Output: the word and the line that tells it. A word that was never planted would prove nothing, so
//! who plants them counts which ones came through.

/// In every prompt.
pub const PROMPT: &str = "zq-prompt-7f31";
/// In every answer, whole or spoilt, and in the words of every error.
pub const ANSWER: &str = "zq-answer-52c8";
/// In the key of every tenant.
pub const CLIENT_KEY: &str = "zq-tenant-90ab";
/// In the key of every route.
pub const ROUTE_KEY: &str = "zq-route-63de";
/// In the client's own headers and in the end user's id.
pub const USER: &str = "zq-user-18cd";
/// In the arguments of tool calls, both ways.
pub const TOOL: &str = "zq-tool-b4d2";

/// All of them.
pub const WORDS: [&str; 6] = [PROMPT, ANSWER, CLIENT_KEY, ROUTE_KEY, USER, TOOL];

/// The first line of `text` that holds a planted word, with its `place`.
pub fn told(place: &str, text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let word = WORDS.iter().find(|word| line.contains(**word))?;
        Some(format!("{place} tells {word:?}:\n{line}"))
    })
}

/// Fails on the first line of `text` that holds a planted word.
///
/// # Panics
/// On such a line, and on no text at all, which would prove nothing.
pub fn search(place: &str, text: &str) {
    assert!(!text.is_empty(), "{place}: nothing was written, so nothing was proven");
    assert_eq!(told(place, text), None);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_in_the_middle_of_a_line_and_the_line_is_named() {
        let text = format!("one\n{{\"message\":\"asked for {PROMPT} again\"}}\nthree");
        let found = told("the log", &text).unwrap();
        assert!(found.starts_with("the log tells") && found.contains("again") && !found.contains("three"));
        assert_eq!(told("the log", "zq-prompt, but not ours"), None);
    }
}
