//! What the pass notes about strings on its way through the prompt.
//!
//! Every string is met anyway, so two questions are answered there: is it a blob that never becomes text tokens, and
//! is it spelt exactly like a word that stands for state held by a provider. A mark is only a sign, because a user
//! may write such a word: `eligibility` looks at its place before it believes it.

use std::ops::BitOrAssign;

use super::super::json::Strings;

/// Signs of state, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks(u8);

impl Marks {
    /// Signed or redacted thinking.
    pub const THINKING: Self = Self(1);
    /// Encrypted reasoning, compaction, references to stored items, files or containers.
    pub const REFERENCE: Self = Self(1 << 1);
    /// Earlier calls of tools that a provider runs.
    pub const SERVER_TOOL: Self = Self(1 << 2);

    /// Whether any of the given signs was seen.
    pub fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// Whether nothing was seen.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The sign that a string stands for.
    #[inline]
    pub fn of(text: &[u8]) -> Self {
        match text {
            b"signature" | b"redacted_thinking" | b"thought_signature" => Self::THINKING,
            b"encrypted_content" | b"item_reference" | b"compaction" | b"file_id" | b"container_id"
            | b"container_upload" => Self::REFERENCE,
            b"server_tool_use"
            | b"mcp_tool_use"
            | b"mcp_call"
            | b"mcp_list_tools"
            | b"mcp_approval_request"
            | b"mcp_approval_response"
            | b"web_search_call"
            | b"file_search_call"
            | b"code_interpreter_call"
            | b"image_generation_call" => Self::SERVER_TOOL,
            _ => Self(0),
        }
    }
}

impl BitOrAssign for Marks {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Shorter strings are counted as text whatever they hold.
const BLOB_BYTES: usize = 512;
/// How much of a long string is looked at; 64 bytes of text without a space or punctuation do not occur.
const BLOB_HEAD: usize = 64;

/// Counts over one top-level value.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) binary_bytes: u64,
    pub(super) marks: Marks,
    prompt: bool,
}

impl Tally {
    pub(super) fn new(prompt: bool) -> Self {
        Self { binary_bytes: 0, marks: Marks::default(), prompt }
    }
}

impl Strings for Tally {
    #[inline]
    fn seen(&mut self, text: &[u8]) {
        if text.len() >= BLOB_BYTES {
            if is_blob(text) {
                self.binary_bytes += text.len() as u64;
            }
        } else if self.prompt && (7..=24).contains(&text.len()) {
            self.marks |= Marks::of(text);
        }
    }
}

/// Whether a string of at least [`BLOB_HEAD`] bytes is a data URL or base64.
pub(in super::super) fn is_blob(text: &[u8]) -> bool {
    // PHP and others write `\/` for a slash.
    let base64 =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'\\' | b'-' | b'_' | b'=');
    text.starts_with(b"data:") || text[..BLOB_HEAD].iter().all(base64)
}
