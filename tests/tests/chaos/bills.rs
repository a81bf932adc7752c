//! Money that the gateway booked, held against what the providers billed.
//!
//! A row whose answer had a head carries the provider's own mark, so it is held against that very bill: equal where the
//! provider told the whole usage, never above it where the row is a lower bound. A row without a mark is held against an
//! attempt of the same user action on the same route that no other row claims, as if that had been given up before its
//! answer (a refusal that crosses with the cancel costs nothing, which nobody can know); there is none where the attempt
//! was cancelled before the provider had it, and what such rows say is told apart. User actions without rows had one attempt
//! that was answered whole, so the gateway's sum of what is known exactly must equal their bills and those of the exact rows.
//!
//! Providers bill a quarter of the client's bytes as input, so the gateway's estimate of input that nobody told is as good as
//! it can be; how it does on real prompts is not tested here.

use std::collections::{HashMap, HashSet};

use crate::{
    book::Book,
    ledger::{Ledger, Paid},
    script::Bill,
};

/// Sums in micro-units.
#[derive(Debug, Default)]
pub struct Sums {
    /// Attempts whose usage was told, and what they cost: booked and billed.
    pub exact: (u64, u64),
    /// Those of them that have a row.
    pub exact_rows: u64,
    /// Lower bounds of attempts that a provider saw.
    pub lower: u64,
    /// How many.
    pub lower_rows: u64,
    /// What was billed for them.
    pub lower_billed: u64,
    /// Lower bounds of attempts that no provider saw.
    pub unseen: u64,
    /// How many.
    pub unseen_rows: u64,
}

/// Holds every row against its bill; the sums, and all that does not fit.
pub fn settle(ledger: &Ledger, book: &Book) -> (Sums, Vec<String>) {
    let (mut sums, mut wrong) = (Sums::default(), Vec::new());
    let attempts = book.attempts();
    let claimed: HashSet<u32> = ledger.paid.iter().filter_map(|paid| paid.mark).collect();
    let mut free: HashMap<(u32, usize), Vec<u32>> = HashMap::new();
    for (cause, repeatable) in &attempts {
        if ledger.knows(cause.action) {
            if !claimed.contains(&cause.mark) {
                free.entry((cause.action, cause.route)).or_default().push(cause.mark);
            }
        } else if !repeatable {
            sums.exact.0 += 1;
            sums.exact.1 += book.bill(cause.mark).micros();
        }
    }
    for paid in &ledger.paid {
        let bill = match paid.mark {
            Some(mark) => Some(book.bill(mark)),
            None => free.get_mut(&(paid.action, paid.route)).and_then(Vec::pop).map(|mark| book.unread(mark)),
        };
        if !sums.enter(paid, bill) {
            wrong.push(format!("{paid:?} was billed as {bill:?} ({})", book.tell(paid.action)));
        }
    }
    (sums, wrong)
}

impl Sums {
    /// Whether a row and its bill fit.
    fn enter(&mut self, paid: &Paid, bill: Option<Bill>) -> bool {
        let micros = paid.tokens.micros();
        let Some(bill) = bill else {
            self.unseen += micros;
            self.unseen_rows += 1;
            return paid.tokens.output == 0;
        };
        if paid.exact {
            self.exact.0 += 1;
            self.exact.1 += micros;
            self.exact_rows += 1;
            // Where not even a head came nothing can have been told, and nothing was booked.
            return paid.tokens == bill || paid.mark.is_none() && micros == 0;
        }
        self.lower += micros;
        self.lower_rows += 1;
        self.lower_billed += bill.micros();
        paid.tokens.input <= bill.input && paid.tokens.output <= bill.output
    }
}
