//! What an upstream's error means for the user action: one table, read from top to bottom.
//!
//! Why it exists: the same status means "your request is wrong", "this account is empty" and "slow down", and only
//! one of them may move a breaker, one may suppress hedges, and one may be tried elsewhere. Providers change their
//! words, so the knowledge is data (`rows`) with the source of each row, not code.
//!
//! Inputs: dialect, status, parsed body, headers. Outputs: a [`Verdict`] with the row that decided. Invariants: codes
//! in the body decide before types, types before statuses, wordings only where the status agrees; every input has a
//! verdict. It refuses to count, wait or retry.

mod rows;

use http::HeaderMap;

use super::dialect::Dialect;
use super::error_body::ErrorBody;

pub use rows::ROWS;

/// How far an error reaches. The order is the order of telling: when all attempts failed, the first is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The request itself: the same on every route.
    Group,
    /// The answer broke the contract of its dialect.
    Contract,
    /// The account's money or long-term quota is used up.
    Quota,
    /// The provider asks to slow down.
    Pushback,
    /// This route can't serve this request: key, permission, model, region.
    RouteLocal,
    /// A fault that may pass.
    Transient,
}

impl Scope {
    /// The name in records and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Contract => "contract",
            Self::Quota => "quota",
            Self::Pushback => "pushback",
            Self::RouteLocal => "routeLocal",
            Self::Transient => "transient",
        }
    }

    /// Whether it is evidence against the route's health.
    pub const fn counts_for_breaker(self) -> bool {
        matches!(self, Self::Transient | Self::Contract)
    }

    /// Whether hedges must stay away from the quota group.
    pub const fn suppresses_hedges(self) -> bool {
        matches!(self, Self::Pushback)
    }
}

/// Where the request may be tried once more, if budget and eligibility agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retry {
    /// Nowhere.
    No,
    /// On another route only.
    OtherRoute,
    /// On a route of another quota group only.
    OtherQuotaGroup,
    /// On another route, or on the same one after a pause.
    Any,
}

/// One line of the table. All conditions that are set must hold; an empty one always does.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Stable name, for records and documentation.
    pub name: &'static str,
    /// Which dialect.
    pub dialect: Option<Dialect>,
    /// `code` or inner code of the body, any of these.
    pub codes: &'static [&'static str],
    /// `type` of the body or name of an AWS exception, any of these.
    pub kinds: &'static [&'static str],
    /// First and last status. Inside a 200 the status is the one the body names, else 0.
    pub statuses: Option<(u16, u16)>,
    /// A part of the message in lower case, any of these.
    pub wordings: &'static [&'static str],
    /// A header that must be there.
    pub header: Option<&'static str>,
    /// What it means.
    pub scope: Scope,
    /// Where to try again.
    pub retry: Retry,
    /// Where the row comes from.
    pub source: &'static str,
}

/// What an error means.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    /// How far it reaches.
    pub scope: Scope,
    /// Where to try again.
    pub retry: Retry,
    /// The row that decided.
    pub row: &'static Row,
}

/// Looks an error up. `status` is the HTTP status, 200 for an error inside a success.
pub fn classify(dialect: Dialect, status: u16, body: Option<&ErrorBody>, headers: &HeaderMap) -> Verdict {
    let facts = Facts::new(dialect, status, body, headers);
    let row = ROWS.iter().find(|row| facts.meets(row)).unwrap_or(&rows::UNKNOWN);
    let told_not_to = headers.get("x-should-retry").is_some_and(|value| value == "false");
    let retry = if row.retry == Retry::Any && told_not_to { Retry::OtherRoute } else { row.retry };
    Verdict { scope: row.scope, retry, row }
}

/// What the rows are held against.
struct Facts<'a> {
    dialect: Dialect,
    status: u16,
    codes: [&'a str; 2],
    kinds: [&'a str; 2],
    message: String,
    headers: &'a HeaderMap,
}

impl<'a> Facts<'a> {
    fn new(dialect: Dialect, status: u16, body: Option<&'a ErrorBody>, headers: &'a HeaderMap) -> Self {
        let word = |part: fn(&ErrorBody) -> &Option<Box<str>>| {
            body.and_then(|body| part(body).as_deref()).unwrap_or("")
        };
        let inside = (200..300).contains(&status);
        // AWS writes `ThrottlingException:http://...`.
        let exception =
            headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok()?.split(':').next());
        Self {
            dialect,
            status: if inside { body.and_then(|body| body.status).unwrap_or(0) } else { status },
            codes: [word(|body| &body.detail), word(|body| &body.code)],
            kinds: [word(|body| &body.kind), exception.unwrap_or("")],
            message: word(|body| &body.message).to_lowercase(),
            headers,
        }
    }

    fn meets(&self, row: &Row) -> bool {
        let one_of = |wanted: &[&str], found: &[&str]| {
            wanted.is_empty() || found.iter().any(|word| wanted.contains(word))
        };
        row.dialect.is_none_or(|dialect| dialect == self.dialect)
            && row.statuses.is_none_or(|(first, last)| (first..=last).contains(&self.status))
            && one_of(row.codes, &self.codes)
            && one_of(row.kinds, &self.kinds)
            && row.header.is_none_or(|name| self.headers.contains_key(name))
            && (row.wordings.is_empty() || row.wordings.iter().any(|wording| self.message.contains(wording)))
    }
}

#[cfg(test)]
mod tests;
