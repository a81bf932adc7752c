//! The records that the gateway wrote, held against what the providers saw.
//!
//! Of uneventful user actions (one attempt, which won) one in ten is written; of all others every attempt. So an action
//! without rows has at most one attempt, and an action with rows has one for each. An attempt that was cancelled before
//! it had left may have a row that no provider knows; the other way round there is one case: a request whose kept
//! HTTP/1.1 connection ended without a byte of an answer is sent once more on a new connection. What rows say was paid is
//! held against bills in [`crate::bills`].

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Read},
};

use serde::Deserialize;

use crate::{book::Book, canary, script::Bill, stand::ROUTES};

/// One line on stdout, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Row {
    event: String,
    user_action_id: String,
    #[serde(default)]
    route: String,
    #[serde(default)]
    outcome: String,
    status_class: String,
    first_byte_ms: Option<u64>,
    #[serde(default)]
    usage_input_units: u64,
    #[serde(default)]
    usage_output_units: u64,
    #[serde(default)]
    usage_basis: String,
    cost_micros: Option<u64>,
    #[serde(default)]
    upstream_request_id: String,
}

/// What one row says was paid.
#[derive(Clone, Copy, Debug)]
pub struct Paid {
    /// User action.
    pub action: u32,
    /// Place of the route in [`ROUTES`].
    pub route: usize,
    /// The provider's mark, where its head came.
    pub mark: Option<u32>,
    /// Tokens.
    pub tokens: Bill,
    /// The provider has told them.
    pub exact: bool,
}

/// Rows of one user action on one route.
#[derive(Clone, Copy, Debug, Default)]
struct Rows {
    sent: u32,
    /// Those without a byte of an answer.
    silent: u32,
}

/// All records.
#[derive(Debug, Default)]
pub struct Ledger {
    rows: HashMap<(u32, usize), Rows>,
    /// Records of user actions that did not succeed, for people.
    told: HashMap<u32, String>,
    /// What attempts cost.
    pub paid: Vec<Paid>,
    /// Records of attempts.
    pub attempts: u64,
    /// Records of user actions.
    pub actions: u64,
}

/// What the books agree on.
#[derive(Debug, Default)]
pub struct Balance {
    /// Attempts that a provider saw.
    pub seen: u64,
    /// Attempts that were booked, but cancelled or lost before a provider had them in full.
    pub unseen: u64,
    /// Requests that were sent once more on a new connection, which is no other attempt.
    pub repeated: u64,
}

impl Ledger {
    /// Reads records until there are no more, and searches each for what must not be in it.
    pub fn read(stdout: impl Read) -> Self {
        let mut ledger = Self::default();
        for line in BufReader::new(stdout).lines() {
            let line = line.unwrap();
            canary::search("a record", &line);
            let row: Row = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            ledger.enter(&row, line);
        }
        ledger
    }

    /// What the gateway says of a user action, where it did not succeed.
    pub fn tell(&self, action: u32) -> &str {
        self.told.get(&action).map_or("no record of a failure", String::as_str)
    }

    fn enter(&mut self, row: &Row, line: String) {
        if row.event != "hedge_attempt_complete" {
            self.actions += 1;
            if row.status_class != "success" {
                let number = row.user_action_id.strip_prefix("chaos-").and_then(|text| text.parse().ok());
                self.told.extend(number.map(|number: u32| (number, line)));
            }
            return;
        }
        self.attempts += 1;
        if row.outcome == "withdrawn" {
            return;
        }
        let number = row.user_action_id.strip_prefix("chaos-").expect("the client's own id");
        let route = ROUTES.iter().position(|route| route.name == row.route).expect("a route of ours");
        let action = number.parse().unwrap();
        let tokens = Bill { input: row.usage_input_units, output: row.usage_output_units };
        assert_eq!(row.cost_micros, Some(tokens.micros()), "{row:?}");
        let exact = row.usage_basis == "exact";
        assert!(exact || row.usage_basis == "lowerBound", "{row:?}");
        let mark = row.upstream_request_id.parse().ok();
        self.paid.push(Paid { action, route, mark, tokens, exact });
        let rows = self.rows.entry((action, route)).or_default();
        rows.sent += 1;
        rows.silent += u32::from(row.first_byte_ms.is_none());
    }

    /// Whether a user action has rows.
    pub fn knows(&self, action: u32) -> bool {
        (0..ROUTES.len()).any(|route| self.rows.contains_key(&(action, route)))
    }

    /// Holds the rows of user actions 0 to `actions` against the book; all that does not fit.
    pub fn balance(&self, actions: u32, book: &Book) -> (Balance, Vec<String>) {
        let (mut balance, mut wrong) = (Balance::default(), Vec::new());
        for action in 0..actions {
            let places = 0..ROUTES.len();
            let known = self.knows(action);
            let mut uneventful = 0;
            for route in places {
                let (seen, repeatable) = book.count(action, route);
                let rows = self.rows.get(&(action, route)).copied().unwrap_or_default();
                let booked = if known { rows.sent } else { seen - repeatable.min(seen) };
                uneventful += booked;
                balance.seen += u64::from(seen);
                balance.repeated += u64::from(seen.saturating_sub(booked));
                balance.unseen += u64::from(booked.saturating_sub(seen));
                if seen.saturating_sub(booked) > repeatable || booked.saturating_sub(seen) > rows.silent {
                    let (name, told) = (ROUTES[route].name, book.tell(action));
                    wrong.push(format!(
                        "action {action}: route {name} saw {seen} attempts, {rows:?} ({told})"
                    ));
                }
            }
            if !known && uneventful > 1 {
                wrong.push(format!(
                    "action {action}: {uneventful} attempts and no row ({})",
                    book.tell(action)
                ));
            }
        }
        (balance, wrong)
    }
}
