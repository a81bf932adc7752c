//! Who runs a tool, by the words of each dialect.
//!
//! Tool types carry dates and grow (`web_search_20260209`), so they are known by prefix, and only those that a client
//! runs are listed: every other type, an absent list's odd shape included, counts as run by the provider.
//! Sources: openai-openapi, anthropic-sdk-python, OpenRouter's plugin page (2026-08).

use super::super::dialect::Operation;
use super::super::json;
use super::super::scan::{Key, Scan};
use super::Tools;

/// Tool types of Responses that the client runs.
const RESPONSES_CLIENT: [&[u8]; 6] =
    [b"function", b"custom", b"local_shell", b"apply_patch", b"computer", b"computer_use_preview"];
/// Prefixes of Anthropic's tool types that the client runs.
const MESSAGES_CLIENT: [&[u8]; 4] = [b"bash_", b"text_editor_", b"computer_", b"memory_"];
/// Parts of model names that search the web without any tool in the request.
const SEARCHING_MODELS: [&str; 3] = ["search-preview", "search-api", ":online"];

/// Who runs the tools, and what says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) who: Tools,
    pub(super) because: &'static str,
}

const NONE: Found = Found { who: Tools::None, because: "" };
const CLIENT: Found = Found { who: Tools::ClientOnly, because: "" };

const fn server(because: &'static str) -> Found {
    Found { who: Tools::Server, because }
}

pub(super) fn of(operation: Operation, scan: &Scan, body: &[u8], model: &str) -> Found {
    if matches!(operation, Operation::Embeddings | Operation::CountTokens) {
        return NONE; // nothing is run there
    }
    let filled = |key| scan.present(key, body).filter(|value| !matches!(*value, b"[]" | b"{}"));
    for (key, because) in [
        (Key::WebSearchOptions, "web_search_options"),
        (Key::McpServers, "mcp_servers"),
        (Key::Fallbacks, "fallbacks"),
        (Key::Plugins, "plugins"),
    ] {
        // An empty `web_search_options` switches the search on.
        if filled(key).is_some() || key == Key::WebSearchOptions && scan.present(key, body).is_some() {
            return server(because);
        }
    }
    if SEARCHING_MODELS.iter().any(|part| model.contains(part)) {
        return server("searching model");
    }
    let mut found = if filled(Key::Functions).is_some() { CLIENT } else { NONE };
    if let Some(tools) = filled(Key::Tools) {
        if !tools.starts_with(b"[") {
            return server("tools of unknown shape");
        }
        for tool in json::items(tools) {
            if !is_client(operation, tool, 0) {
                return server("tool run by the provider");
            }
            found = CLIENT;
        }
    }
    found
}

fn is_client(operation: Operation, tool: &[u8], depth: u8) -> bool {
    if !tool.starts_with(b"{") {
        return false;
    }
    let kind = json::present(tool, b"type");
    let Some(kind) = kind.map(|kind| json::inside(kind).unwrap_or_default()) else {
        return operation == Operation::Messages; // Anthropic's custom tools need no type
    };
    match operation {
        Operation::Messages => {
            kind == b"custom" || MESSAGES_CLIENT.iter().any(|prefix| kind.starts_with(prefix))
        }
        Operation::Responses => match kind {
            b"namespace" if depth == 0 => {
                let inner = json::get(tool, b"tools").unwrap_or_default();
                inner.starts_with(b"[") && json::items(inner).all(|tool| is_client(operation, tool, 1))
            }
            b"shell" => inner_is(json::get(tool, b"environment"), b"type", b"local"),
            b"tool_search" => inner_is(Some(tool), b"execution", b"client"),
            _ => RESPONSES_CLIENT.contains(&kind),
        },
        _ => matches!(kind, b"function" | b"custom"),
    }
}

fn inner_is(object: Option<&[u8]>, key: &[u8], wanted: &[u8]) -> bool {
    object.and_then(|object| json::get(object, key)).and_then(json::inside) == Some(wanted)
}
