//! What the providers saw: one entry per request that arrived whole, and how many are still being answered.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::Value;

use crate::{
    canary::{CLIENT_KEY, PROMPT, ROUTE_KEY},
    plan::SIZE,
    script::{Bill, Cause, Fault, Operation, Script},
    stand::ROUTES,
};

/// The book of all providers.
pub struct Book {
    seed: u64,
    pages: Mutex<Pages>,
    open: AtomicU64,
}

#[derive(Default)]
struct Pages {
    entries: Vec<Cause>,
    /// Bytes that were written of each answer; `None` = not even its head.
    sent: Vec<Option<usize>>,
    /// Requests by user action and route.
    counts: HashMap<(u32, usize), u32>,
    /// Those of them that were reset before a byte of an answer.
    repeatable: HashMap<(u32, usize), u32>,
}

/// An attempt that is being answered; what ends or drops it closes it.
pub struct Open<'a> {
    book: &'a Book,
    mark: u32,
    sent: Option<usize>,
}

impl Open<'_> {
    /// Its number in the book.
    pub fn mark(&self) -> u32 {
        self.mark
    }

    /// The head and so much of the body are written, or are about to be.
    pub fn sent(&mut self, upto: usize) {
        self.sent = Some(upto);
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.book.pages.lock().unwrap().sent[self.mark as usize] = self.sent;
        self.book.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Book {
    pub fn new(seed: u64) -> Self {
        Self { seed, pages: Mutex::default(), open: AtomicU64::new(0) }
    }

    /// Enters a request that is there in full.
    ///
    /// `header` gives the value of a request header: one that only this route's configuration adds, the credential, and the
    /// size of the client's own body, a quarter of which is billed as input tokens.
    pub fn enter<'h>(
        &self,
        path: &str,
        header: impl Fn(&'static str) -> &'h str,
        body: &[u8],
    ) -> (Script, Open<'_>) {
        let (route, authorization) = (header("x-route"), header("authorization"));
        let bytes: u64 = header(SIZE).parse().expect("the size of the client's body");
        let route = ROUTES.iter().position(|one| one.name == route).expect("a route of ours");
        assert!(authorization.contains(ROUTE_KEY), "{authorization:?} instead of the route's key");
        let text = std::str::from_utf8(body).expect("UTF-8");
        assert!(text.contains(PROMPT) && !text.contains(CLIENT_KEY), "{text}");
        let asked: Value = serde_json::from_slice(body).expect("JSON");
        let (_, number) = text.split_once("action-").expect("the action's number");
        let digits = number.split(|c: char| !c.is_ascii_digit()).next().unwrap();
        let action: u32 = digits.parse().expect("the action's number");
        let operation = match path {
            _ if path.ends_with("/chat/completions") => Operation::Chat,
            _ if path.ends_with("/messages") => Operation::Messages,
            _ => Operation::Embeddings,
        };
        let mut pages = self.pages.lock().unwrap();
        let count = pages.counts.entry((action, route)).or_default();
        let before = *count;
        *count += 1;
        let cause = Cause {
            seed: self.seed,
            action,
            route,
            before,
            mark: pages.entries.len() as u32,
            operation,
            stream: asked["stream"] == true,
            usage: asked["stream_options"]["include_usage"] == true,
            input: bytes / 4,
        };
        pages.entries.push(cause);
        pages.sent.push(None);
        let script = Script::draw(&cause);
        if script.fault == Fault::Reset && !ROUTES[route].http2 {
            *pages.repeatable.entry((action, route)).or_default() += 1;
        }
        drop(pages);
        self.open.fetch_add(1, Ordering::Relaxed);
        (script, Open { book: self, mark: cause.mark, sent: None })
    }

    /// The attempt with this mark.
    pub fn attempt(&self, mark: u32) -> Option<Cause> {
        self.pages.lock().unwrap().entries.get(mark as usize).copied()
    }

    /// What was billed for the attempt with this mark; the run must be over.
    pub fn bill(&self, mark: u32) -> Bill {
        let pages = self.pages.lock().unwrap();
        let cause = &pages.entries[mark as usize];
        Script::draw(cause).bill(cause, pages.sent[mark as usize])
    }

    /// What it would have been had the attempt been given up before any answer.
    pub fn unread(&self, mark: u32) -> Bill {
        let pages = self.pages.lock().unwrap();
        let cause = &pages.entries[mark as usize];
        Script::draw(cause).bill(cause, None)
    }

    /// All attempts by mark: what caused each, and whether it may have been sent once more without being another attempt.
    pub fn attempts(&self) -> Vec<(Cause, bool)> {
        let pages = self.pages.lock().unwrap();
        let repeatable =
            |cause: &Cause| Script::draw(cause).fault == Fault::Reset && !ROUTES[cause.route].http2;
        pages.entries.iter().map(|cause| (*cause, repeatable(cause))).collect()
    }

    /// Attempts seen.
    pub fn len(&self) -> usize {
        self.pages.lock().unwrap().entries.len()
    }

    /// Attempts that are being answered.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// What happened to the attempts of a user action, for people.
    pub fn tell(&self, action: u32) -> String {
        let pages = self.pages.lock().unwrap();
        let attempts = pages.entries.iter().filter(|cause| cause.action == action);
        let told =
            attempts.map(|cause| format!("{} {:?}", ROUTES[cause.route].name, Script::draw(cause).fault));
        told.collect::<Vec<_>>().join(", ")
    }

    /// Attempts of a user action on a route, and how many of them may have been sent once more without being another
    /// attempt: those whose kept HTTP/1.1 connection ended before a byte of an answer.
    pub fn count(&self, action: u32, route: usize) -> (u32, u32) {
        let pages = self.pages.lock().unwrap();
        let seen = pages.counts.get(&(action, route)).copied().unwrap_or(0);
        let repeatable = pages.repeatable.get(&(action, route)).copied().unwrap_or(0);
        (seen, repeatable)
    }
}
