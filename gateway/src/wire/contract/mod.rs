//! What a policy asks of an answer beyond what its dialect promises.
//!
//! Why it exists: an answer that is complete can still be useless to who asked: cut at the token limit, or not of the JSON
//! schema that the request named. A whole answer that is so loses, and another may still win; a stream has been relayed
//! by the time one can say, so that is counted and written down.
//!
//! Inputs: the policy's [`Contract`], the request's schema, a checked answer or what a stream has said. Outputs: nothing,
//! or the first [`Breach`].
//! Invariants: a policy that asks for nothing costs nothing; schemas are at most [`SCHEMA_BYTES`] long, refer to nothing
//! outside themselves, and match patterns in linear time, so that no client can keep the gateway busy; a breach never
//! quotes the answer. An answer that calls a tool or refuses has no text to be judged yet.
//! It refuses to judge a request: a schema that cannot be used is the provider's to reject, and checks nothing here.

mod spoken;

use hedgerow_config::cohort::Contract;
use jsonschema::PatternOptions;
use serde_json::Value;

use super::complete::Answer;
use super::dialect::Operation;
use super::json;

pub use self::spoken::{KEPT_BYTES, Spoken};

/// Longest schema that is checked, in bytes.
pub const SCHEMA_BYTES: usize = 64 * 1024;

/// What an answer lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    /// It does not say that it is finished.
    #[error("the provider's answer has no finish reason")]
    Unfinished,
    /// It ended in a way that the policy does not allow.
    #[error("the provider's answer ended for a reason that the policy does not allow")]
    Finish,
    /// Its text is no JSON.
    #[error("the text of the provider's answer is not JSON")]
    NotJson,
    /// Its text is JSON of another shape.
    #[error("the text of the provider's answer does not satisfy the schema of the request")]
    Schema,
    /// Something is missing in its text.
    #[error("the text of the provider's answer has no {0}, which the policy requires")]
    Missing(String),
}

impl Breach {
    /// All words of [`word`](Self::word).
    pub const WORDS: [&'static str; 5] = ["unfinished", "finish_reason", "not_json", "schema", "pointer"];

    /// The word in metrics.
    pub const fn word(&self) -> &'static str {
        let number = match self {
            Self::Unfinished => 0,
            Self::Finish => 1,
            Self::NotJson => 2,
            Self::Schema => 3,
            Self::Missing(_) => 4,
        };
        Self::WORDS[number]
    }
}

/// Whether the text of an answer is needed to judge it. `schema` is what [`schema`] found in the request.
pub fn needs_text(contract: &Contract, schema: Option<&[u8]>) -> bool {
    !contract.required_json_pointers.is_empty() || (contract.json_schema_from_request && schema.is_some())
}

/// The schema that a request asks for, as it stands in its body; `None`: it asks for none, or for one that is too long.
pub fn schema(operation: Operation, body: &[u8]) -> Option<&[u8]> {
    let found = match operation {
        Operation::ChatCompletions | Operation::Completions => {
            json::get(json::get(json::get(body, b"response_format")?, b"json_schema")?, b"schema")
        }
        Operation::Responses => json::get(json::get(json::get(body, b"text")?, b"format")?, b"schema"),
        Operation::Messages => {
            let newer = json::get(body, b"output_config").and_then(|config| json::get(config, b"format"));
            json::get(newer.or_else(|| json::get(body, b"output_format"))?, b"schema")
        }
        Operation::Embeddings | Operation::CountTokens => None,
    };
    found.filter(|schema| schema.len() <= SCHEMA_BYTES)
}

/// Holds a whole answer against the policy. `schema` is what [`schema`] found in the request.
pub fn check(
    contract: &Contract,
    operation: Operation,
    answer: &Answer<'_>,
    body: &[u8],
    schema: Option<&[u8]>,
) -> Result<(), Breach> {
    if contract.require_finish && !answer.finished {
        return Err(Breach::Unfinished);
    }
    stopped_as_allowed(contract, answer.finish.unwrap_or_default())?;
    let Some(demand) = Demand::of(contract, schema) else { return Ok(()) };
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return Err(Breach::NotJson) };
    texts(operation, &body).iter().try_for_each(|text| demand.met_by(text))
}

/// Holds a stream that has ended as its dialect ends one against the policy: why it stopped, and what it said as far as that
/// was kept.
pub fn check_stream(
    contract: &Contract,
    finish: &[u8],
    spoken: Option<&Spoken>,
    schema: Option<&[u8]>,
) -> Result<(), Breach> {
    stopped_as_allowed(contract, finish)?;
    let Some((spoken, demand)) = spoken.zip(Demand::of(contract, schema)) else { return Ok(()) };
    spoken.texts().try_for_each(|text| demand.met_by(&text.ok_or(Breach::NotJson)?))
}

/// An answer that does not say why it stopped is none of its business.
fn stopped_as_allowed(contract: &Contract, finish: &[u8]) -> Result<(), Breach> {
    let allowed = &contract.allowed_finish_reasons;
    let fits =
        finish.is_empty() || allowed.is_empty() || allowed.iter().any(|reason| reason.as_bytes() == finish);
    if fits { Ok(()) } else { Err(Breach::Finish) }
}

/// What is asked of the text of an answer.
struct Demand<'a> {
    schema: Option<jsonschema::Validator>,
    pointers: &'a [String],
}

impl<'a> Demand<'a> {
    /// `None`: nothing is asked.
    fn of(contract: &'a Contract, schema: Option<&[u8]>) -> Option<Self> {
        let schema = schema.filter(|_| contract.json_schema_from_request).and_then(compile);
        let pointers = contract.required_json_pointers.as_slice();
        (schema.is_some() || !pointers.is_empty()).then_some(Self { schema, pointers })
    }

    fn met_by(&self, text: &str) -> Result<(), Breach> {
        let value: Value = serde_json::from_str(text).map_err(|_| Breach::NotJson)?;
        if self.schema.as_ref().is_some_and(|schema| !schema.is_valid(&value)) {
            return Err(Breach::Schema);
        }
        let missing = self.pointers.iter().find(|pointer| value.pointer(pointer).is_none());
        missing.map_or(Ok(()), |missing| Err(Breach::Missing(missing.clone())))
    }
}

/// `None`: the schema is none, or refers to what is not in it.
fn compile(schema: &[u8]) -> Option<jsonschema::Validator> {
    let schema: Value = serde_json::from_slice(schema).ok()?;
    jsonschema::options().with_pattern_options(PatternOptions::regex()).build(&schema).ok()
}

/// The texts of an answer that are its last word: one per choice, none of a choice that calls a tool or refuses.
fn texts(operation: Operation, body: &Value) -> Vec<String> {
    let list = |key: &str| body[key].as_array().map_or(&[][..], Vec::as_slice);
    match operation {
        Operation::ChatCompletions => {
            list("choices").iter().filter_map(|choice| message(&choice["message"])).collect()
        }
        Operation::Completions => {
            list("choices").iter().filter_map(|choice| choice["text"].as_str()).map(str::to_owned).collect()
        }
        Operation::Messages => parts(list("content"), "text").into_iter().collect(),
        Operation::Responses => {
            let items = list("output");
            let kind = |item: &Value| item["type"].as_str().unwrap_or_default().to_owned();
            if items.iter().any(|item| kind(item).ends_with("_call")) {
                return Vec::new();
            }
            let messages = items.iter().filter(|item| kind(item) == "message");
            messages.filter_map(|item| parts(item["content"].as_array()?, "output_text")).collect()
        }
        Operation::Embeddings | Operation::CountTokens => Vec::new(),
    }
}

/// The text of a chat message.
fn message(message: &Value) -> Option<String> {
    let calls = message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
    if calls || !message["function_call"].is_null() || !message["refusal"].is_null() {
        return None;
    }
    match &message["content"] {
        Value::String(text) => Some(text.clone()),
        Value::Array(found) => parts(found, "text"),
        _ => None,
    }
}

/// The text of all parts of this type; `None` when a part calls a tool, refuses, or none is of the type.
fn parts(parts: &[Value], wanted: &str) -> Option<String> {
    let mut text = None;
    for part in parts {
        match part["type"].as_str().unwrap_or_default() {
            kind if kind == wanted => {
                text.get_or_insert_with(String::new).push_str(part["text"].as_str().unwrap_or_default());
            }
            "refusal" => return None,
            kind if kind.ends_with("tool_use") => return None,
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests;
