//! Rows of a file, whatever it is: JSON lines of a gateway or CSV, plain or in gzip.
//!
//! One line at a time. A line that cannot be used is counted by its reason, with the place of the first: users must see that
//! something was left out, and where.

use std::{collections::BTreeMap, io, path::Path, time::Duration};

use hedgerow_policy::time::Moment;
use thiserror::Error;

use super::{
    csv::{Header, HeaderError},
    lines::Lines,
    progress::{EVERY, Progress},
    records,
};

/// A row may be this much older than the newest before it: attempts end in another order than they start.
pub const BACKWARDS: Duration = Duration::from_mins(30);
/// So many rows in a row that are older: another log begins here, or one row was far ahead. Time goes on from there.
const ANOTHER_LOG: u32 = 100;

/// One attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// When it ended, Unix time.
    pub at: Moment,
    /// Cohort, or what stands for one.
    pub cohort: String,
    /// Route.
    pub route: String,
    /// Public model; empty = not told.
    pub model: String,
    /// Streaming: first tokens count, else whole answers.
    pub stream: bool,
    /// Time to the first token.
    pub first_token: Option<Duration>,
    /// Time to the end.
    pub total: Duration,
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Whether it was answered.
    pub good: bool,
    /// Cancelled before it was answered: how slow it would have been is unknown.
    pub censored: bool,
    /// A hedge, and whether it won.
    pub hedge: Option<bool>,
    /// How many attempts it stands for.
    pub weight: u32,
}

/// Why a row was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unusable {
    /// Reason.
    pub reason: &'static str,
    /// Column, from 1; 0 = the whole line.
    pub column: usize,
}

/// Rows that were left out: by reason, how many, and line and column of the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped(pub BTreeMap<&'static str, (u64, u64, usize)>);

/// A file that is of no use.
#[derive(Debug, Error)]
pub enum RowsError {
    /// Nothing to read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// File.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Empty.
    #[error("{0} holds no rows: give JSON lines of a gateway, or CSV with a header")]
    Empty(String),
    /// A header that cannot be used.
    #[error("{path}, line {line}, column {column}: {source}", column = .source.column)]
    Header {
        /// File.
        path: String,
        /// Its line.
        line: u64,
        /// Why.
        source: HeaderError,
    },
    /// Nothing usable in it.
    #[error(
        "{path} holds no usable row; the first that was left out: line {line}, column {column}: {reason}"
    )]
    NoneUsable {
        /// File.
        path: String,
        /// Line of the first.
        line: u64,
        /// Its column.
        column: usize,
        /// Why.
        reason: &'static str,
    },
    /// Cut off or damaged in the middle.
    #[error("{path} breaks off in line {line}, column {column}: {source}; copy it again")]
    Cut {
        /// File.
        path: String,
        /// Line that could not be read to its end.
        line: u64,
        /// Column of what could not be read.
        column: usize,
        /// Why.
        source: io::Error,
    },
}

impl Skipped {
    fn add(&mut self, line: u64, unusable: Unusable) {
        self.0.entry(unusable.reason).or_insert((0, line, unusable.column)).0 += 1;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.values().map(|(count, ..)| count).sum()
    }
}

enum Format {
    Json,
    Csv(Header),
}

/// Gives every usable row of a file to `take`, and every now and then to `tell` how far it is.
pub fn read(
    path: &Path,
    reading: u32,
    take: &mut dyn FnMut(&Row),
    tell: &mut dyn FnMut(&Progress),
) -> Result<Skipped, RowsError> {
    let name = path.display().to_string();
    let mut lines = Lines::open(path).map_err(|source| RowsError::Read { path: name.clone(), source })?;
    let (mut rows, mut usable) = (Rows::default(), 0_u64);
    loop {
        let text = match lines.line() {
            Ok(Some(text)) => text,
            Ok(None) => break,
            Err(source) => {
                let (line, column) = lines.broken();
                return Err(RowsError::Cut { path: name, line, column, source });
            }
        };
        let row = text.map(|text| rows.row(text));
        let number = lines.number();
        match row {
            Ok(Ok(Some(row))) => {
                usable += 1;
                take(&row);
            }
            Ok(Ok(None)) => {}
            Ok(Err(Refusal::Header(source))) => {
                return Err(RowsError::Header { path: name, line: number, source });
            }
            Ok(Err(Refusal::Row(unusable))) | Err(unusable) => rows.skipped.add(number, unusable),
        }
        if number.is_multiple_of(EVERY) {
            let (read, size) = lines.taken();
            tell(&Progress { reading, lines: number, read, size });
        }
        // Without a header that can be read nothing after it can be.
        if rows.format.is_none() && rows.skipped.total() > 0 {
            break;
        }
    }
    let skipped = rows.skipped;
    match (usable, skipped.0.iter().min_by_key(|(_, (_, line, _))| *line)) {
        (0, Some((reason, (_, line, column)))) => {
            Err(RowsError::NoneUsable { path: name, line: *line, column: *column, reason })
        }
        (0, None) => Err(RowsError::Empty(name)),
        _ => Ok(skipped),
    }
}

/// Why a line is no row.
enum Refusal {
    Header(HeaderError),
    Row(Unusable),
}

/// What was learnt on the way.
#[derive(Default)]
struct Rows {
    format: Option<Format>,
    newest: Moment,
    behind: u32,
    skipped: Skipped,
}

impl Rows {
    /// The row of a line; nothing of a header, of an empty line, and of a record of a user action, whose attempts have
    /// their own.
    fn row(&mut self, text: &str) -> Result<Option<Row>, Refusal> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let format = match &mut self.format {
            Some(format) => format,
            None if text.trim_start().starts_with('{') => self.format.insert(Format::Json),
            None => {
                self.format = Some(Format::Csv(Header::read(text).map_err(Refusal::Header)?));
                return Ok(None);
            }
        };
        let (row, column) = match format {
            Format::Json => (records::row(text), 0),
            Format::Csv(header) => (header.row(text).map(Some), header.time()),
        };
        let Some(row) = row.map_err(Refusal::Row)? else { return Ok(None) };
        self.order(row.at, column).map_err(Refusal::Row)?;
        Ok(Some(row))
    }

    /// Whether a time is about where the others are.
    fn order(&mut self, at: Moment, column: usize) -> Result<(), Unusable> {
        if at + BACKWARDS >= self.newest || self.behind >= ANOTHER_LOG {
            self.newest = if self.behind >= ANOTHER_LOG { at } else { self.newest.max(at) };
            self.behind = 0;
            return Ok(());
        }
        self.behind += 1;
        let reason = "its time is half an hour or more before that of an earlier row: sort by time";
        Err(Unusable { reason, column })
    }
}
