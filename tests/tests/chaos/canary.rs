//! Words that must stay where they belong, planted in every secret, prompt and answer.
//!
//! Why: neither logs nor records nor metrics may carry a byte of a prompt, an answer or a key. Inputs: everything that
//! the gateway wrote. Output: a failure that names the word and the line. A word that was never planted would prove
//! nothing, so the providers count which ones they saw.

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

/// All of them.
const WORDS: [&str; 5] = [PROMPT, ANSWER, CLIENT_KEY, ROUTE_KEY, USER];

/// Fails on the first line of `text` that holds a planted word.
pub fn search(place: &str, text: &str) {
    assert!(!text.is_empty(), "{place}: nothing was written, so nothing was proven");
    for line in text.lines() {
        for word in WORDS {
            assert!(!line.contains(word), "{place} tells {word:?}:\n{line}");
        }
    }
}
