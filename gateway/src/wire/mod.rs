//! Bytes and dialects: everything the gateway reads from or writes into requests and answers.
//!
//! Why it exists: one place knows what OpenAI's and Anthropic's bytes look like, so that lanes, plans, the race and
//! the relay speak of classes, signals and scopes only.
//!
//! Inputs: header maps and body bytes, the present time as an argument. Outputs: spans, classes, signals, usage,
//! error scopes, and the few bytes the gateway writes itself. Invariants: pure (no I/O, no clock, no runtime); what
//! is forwarded stays byte-identical; every walk is linear and bounded; nothing here logs.
//! It refuses to translate between dialects and to parse whole bodies into trees.

pub mod answer;
pub mod complete;
pub mod contract;
pub mod dialect;
pub mod document;
pub mod eligibility;
pub mod error_body;
pub mod error_table;
pub mod headers;
pub mod json;
pub mod path;
pub mod rate_limit;
pub mod retry_after;
pub mod scan;
pub mod splice;
pub mod sse;
pub mod token;
pub mod usage;
