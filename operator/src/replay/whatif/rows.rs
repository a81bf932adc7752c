//! Rows of a file, whatever it is: JSON lines of a gateway or CSV, plain or in gzip.
//!
//! One line at a time. A line that cannot be used is counted by its reason, with the place of the first: users must see that
//! something was left out, and where.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader, Read as _},
    path::Path,
    time::Duration,
};

use flate2::read::MultiGzDecoder;
use hedgerow_policy::time::Moment;
use thiserror::Error;

use super::{csv::Header, records};

/// Longest line that is read.
const LONGEST: u64 = 1 << 20;
/// A row may be this much older than the newest before it: attempts end in another order than they start.
const BACKWARDS: Duration = Duration::from_mins(30);

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
    /// A header without the columns that are needed.
    #[error(
        "{path}, line 1: column {column} is missing; needed are time, route, first_token_ms, total_ms, input_tokens, output_tokens, status"
    )]
    Column {
        /// File.
        path: String,
        /// Which.
        column: &'static str,
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
    #[error("{path} ends after line {line}: {source}; copy it again")]
    Cut {
        /// File.
        path: String,
        /// Last line that was read.
        line: u64,
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

/// Gives every usable row of a file to `take`.
pub fn read(path: &Path, take: &mut dyn FnMut(&Row)) -> Result<Skipped, RowsError> {
    let name = path.display().to_string();
    let failed = |source| RowsError::Read { path: name.clone(), source };
    let mut lines = Lines::new(open(path).map_err(failed)?);
    let (mut skipped, mut format, mut usable, mut newest) = (Skipped::default(), None, 0_u64, Moment::ZERO);
    loop {
        let line = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(source) => return Err(RowsError::Cut { path: name, line: lines.number, source }),
        };
        let text = line.trim_end_matches(['\r', '\n']);
        if text.trim().is_empty() {
            continue;
        }
        let row = match &mut format {
            None if !text.trim_start().starts_with('{') => {
                let header =
                    Header::read(text).map_err(|column| RowsError::Column { path: name.clone(), column })?;
                format = Some(Format::Csv(header));
                continue;
            }
            None => {
                format = Some(Format::Json);
                records::row(text)
            }
            Some(Format::Json) => records::row(text),
            Some(Format::Csv(header)) => header.row(text).map(Some),
        };
        match row {
            Ok(Some(row)) if row.at + BACKWARDS < newest => {
                let reason = "its time is half an hour or more before that of an earlier row";
                skipped.add(lines.number, Unusable { reason, column: 1 });
            }
            Ok(Some(row)) => {
                newest = newest.max(row.at);
                usable += 1;
                take(&row);
            }
            // Records of user actions: their attempts have their own.
            Ok(None) => {}
            Err(unusable) => skipped.add(lines.number, unusable),
        }
    }
    match (usable, skipped.0.iter().min_by_key(|(_, (_, line, _))| *line)) {
        (0, Some((reason, (_, line, column)))) => {
            Err(RowsError::NoneUsable { path: name, line: *line, column: *column, reason })
        }
        (0, None) => Err(RowsError::Empty(name)),
        _ => Ok(skipped),
    }
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
    // The magic number says what it is, whatever its name (RFC 1952).
    if file.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file))));
    }
    Ok(Box::new(file))
}

struct Lines {
    from: Box<dyn BufRead>,
    text: String,
    number: u64,
}

impl Lines {
    fn new(from: Box<dyn BufRead>) -> Self {
        Self { from, text: String::new(), number: 0 }
    }

    /// The next line; one that is no text or endless ends the file with an error.
    fn next(&mut self) -> io::Result<Option<&str>> {
        self.text.clear();
        let read = (&mut self.from).take(LONGEST).read_line(&mut self.text)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if read as u64 == LONGEST && !self.text.ends_with('\n') {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than 1 MiB"));
        }
        Ok(Some(&self.text))
    }
}
