//! What may be done with a request besides sending it once.
//!
//! Why it exists: a second copy of a request may search the web twice, store two conversations or fail with another
//! account's key. Whether that is so stands in the request, often in what is missing from it, and is decided once,
//! before any attempt.
//!
//! Inputs: operation, [`Scan`], body, model, and whether the client's own credential is passed through. Outputs: an
//! [`Eligibility`]. Invariants: what is not known is taken for the worst (an unknown tool type is run by the
//! provider); signs of state inside the prompt are believed only at their place, because users write such words too.
//! It refuses to weigh cost and load: that is the gate's.

mod state;
mod tools;

use super::dialect::Operation;
use super::json;
use super::scan::{Key, Scan};
use state::State;

/// The class of a request, from the freest to the most bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Text in, text out.
    Pure,
    /// Only tools that the client runs; it runs the winner's.
    ClientTools,
    /// A copy costs a multiple: several choices, audio or image output, a cheap tier.
    Costly,
    /// Something stays behind at the provider.
    Stateful,
    /// The provider acts while it answers.
    ServerEffects,
    /// Works with one account only.
    Pinned,
}

impl Class {
    /// The name in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::ClientTools => "clientTools",
            Self::Costly => "costly",
            Self::Stateful => "stateful",
            Self::ServerEffects => "serverEffects",
            Self::Pinned => "pinned",
        }
    }
}

/// Who runs the tools of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tools {
    /// There are none.
    None,
    /// The client runs all of them.
    ClientOnly,
    /// The provider runs at least one, or might.
    Server,
}

/// When a failed attempt may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetryRule {
    /// Until its first token.
    BeforeFirstToken,
    /// Only with proof that nothing ran: no connection, or a refusal before any work.
    OnlyIfNothingRan,
    /// As before, and only on the same route.
    SameRouteOnly,
}

/// What may be done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eligibility {
    /// Its class.
    pub class: Class,
    /// Whether a hedge is possible; a costly one still has to fit the spend ceiling.
    pub hedge: bool,
    /// When it may be repeated.
    pub retry: RetryRule,
    /// Whether it goes to the model's home route.
    pub home_route: bool,
    /// Whether it must stay inside one provider unless the route says that signatures are portable.
    pub provider_pinned: bool,
    /// Who runs its tools.
    pub tools: Tools,
    /// What decided the class, for the record; empty for the free classes.
    pub because: &'static str,
}

/// Classifies a request.
pub fn classify(
    operation: Operation,
    scan: &Scan,
    body: &[u8],
    model: &str,
    passthrough: bool,
) -> Eligibility {
    let tools = tools::of(operation, scan, body, model);
    let state = state::of(scan, body);
    let (class, because) = decide(operation, scan, body, passthrough, tools, state);
    let bound = matches!(class, Class::Stateful | Class::Pinned) || state.server_tool;
    Eligibility {
        class,
        hedge: class <= Class::Costly,
        retry: match class {
            Class::Pinned => RetryRule::SameRouteOnly,
            Class::Stateful | Class::ServerEffects => RetryRule::OnlyIfNothingRan,
            _ => RetryRule::BeforeFirstToken,
        },
        home_route: bound,
        provider_pinned: state.thinking,
        tools: tools.who,
        because,
    }
}

fn decide(
    operation: Operation,
    scan: &Scan,
    body: &[u8],
    passthrough: bool,
    tools: tools::Found,
    state: State,
) -> (Class, &'static str) {
    if passthrough {
        return (Class::Pinned, "passthrough");
    }
    if let Some(why) = pinned(operation, scan, body, state) {
        return (Class::Pinned, why);
    }
    if tools.who == Tools::Server {
        return (Class::ServerEffects, tools.because);
    }
    if state.server_tool {
        return (Class::ServerEffects, "server tool in the prompt");
    }
    if let Some(why) = stateful(operation, scan, body) {
        return (Class::Stateful, why);
    }
    match costly(scan, body) {
        Some(why) => (Class::Costly, why),
        None if tools.who == Tools::ClientOnly => (Class::ClientTools, ""),
        None => (Class::Pure, ""),
    }
}

fn pinned(operation: Operation, scan: &Scan, body: &[u8], state: State) -> Option<&'static str> {
    let there = |key: Key| scan.present(key, body).map(|_| key.as_str());
    let bound = match operation {
        // A template at the provider; in the legacy form `prompt` is the text.
        Operation::Responses => {
            there(Key::PreviousResponseId).or_else(|| there(Key::Conversation)).or_else(|| {
                scan.raw(Key::Prompt, body).filter(|value| value.starts_with(b"{")).map(|_| "prompt")
            })
        }
        Operation::Messages => there(Key::Container),
        _ => None,
    };
    bound.or(state.reference.then_some("reference in the prompt"))
}

fn stateful(operation: Operation, scan: &Scan, body: &[u8]) -> Option<&'static str> {
    let on = |key| scan.present(key, body).is_some_and(|value| value != b"false");
    match operation {
        Operation::Responses if on(Key::Background) => Some("background"),
        Operation::Responses if scan.flag(Key::Store, body) != Some(false) => Some("store"),
        Operation::ChatCompletions if on(Key::Store) => Some("store"),
        // Warms the provider's cache and generates nothing.
        Operation::Messages if scan.number(Key::MaxTokens, body) == Some(0) => Some("max_tokens:0"),
        _ => None,
    }
}

fn costly(scan: &Scan, body: &[u8]) -> Option<&'static str> {
    let several = |key: Key| scan.number(key, body).is_some_and(|count| count > 1).then_some(key.as_str());
    let tier = || {
        let tier = scan.raw(Key::ServiceTier, body).and_then(json::inside)?;
        matches!(tier, b"flex" | b"batch").then_some("service_tier")
    };
    let media = || {
        let mut modes = json::items(scan.raw(Key::Modalities, body)?);
        modes.any(|mode| mode != b"\"text\"").then_some("modalities")
    };
    several(Key::N)
        .or_else(|| several(Key::BestOf))
        .or_else(|| scan.present(Key::Audio, body).map(|_| "audio"))
        .or_else(media)
        .or_else(tier)
        .or_else(|| scan.present(Key::ContextManagement, body).map(|_| "context_management"))
}

#[cfg(test)]
mod tests;
