//! CSV: `time,route,first_token_ms,total_ms,input_tokens,output_tokens,status`, in any order, with optional `model`, `stream`
//! and `cohort`; other columns are ignored.
//!
//! `time` is RFC 3339, or seconds or milliseconds since 1970 (which of them, the first row says). `status` is an HTTP status.
//! Without `cohort` the model and whether it streams stand for one. Fields may be quoted (RFC 4180), but not over lines.

use std::{borrow::Cow, time::Duration};

use hedgerow_policy::time::Moment;
use thiserror::Error;

use super::rows::{Row, Unusable};

const NEEDED: [&str; 7] =
    ["time", "route", "first_token_ms", "total_ms", "input_tokens", "output_tokens", "status"];

/// Which column is where.
pub struct Header {
    needed: [usize; 7],
    model: Option<usize>,
    stream: Option<usize>,
    cohort: Option<usize>,
    /// Times are in milliseconds; set by the first number.
    millis: Option<bool>,
}

/// A first line that is no header of ours.
#[derive(Debug, Error)]
#[error("{why}; needed are {}, parted by commas", NEEDED.join(", "))]
pub struct HeaderError {
    /// Where, from 1.
    pub column: usize,
    why: String,
}

impl Header {
    /// Reads the first line.
    pub fn read(line: &str) -> Result<Self, HeaderError> {
        let names: Vec<String> =
            fields(line).into_iter().map(|name| name.trim().to_ascii_lowercase()).collect();
        let place = |name: &str| names.iter().position(|found| found == name);
        let missing: Vec<&str> = NEEDED.into_iter().filter(|name| place(name).is_none()).collect();
        if let ([_], Some(at)) = (names.as_slice(), line.find([';', '\t'])) {
            let why = "fields are parted by something else than commas".to_owned();
            return Err(HeaderError { column: at + 1, why });
        }
        if !missing.is_empty() {
            let why = match missing.as_slice() {
                [one] => format!("column {one} is missing"),
                several => format!("columns {} are missing", several.join(", ")),
            };
            return Err(HeaderError { column: line.len() + 1, why });
        }
        if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at]))
            && NEEDED.contains(&names[twice].as_str())
        {
            let why = format!("column {} is there twice", names[twice]);
            return Err(HeaderError { column: twice + 1, why });
        }
        let needed = NEEDED.map(|name| place(name).unwrap_or_default());
        Ok(Self {
            needed,
            model: place("model"),
            stream: place("stream"),
            cohort: place("cohort"),
            millis: None,
        })
    }

    /// Column of the time, from 1.
    pub fn time(&self) -> usize {
        self.needed[0] + 1
    }

    /// One row.
    pub fn row(&mut self, line: &str) -> Result<Row, Unusable> {
        let fields = fields(line);
        let at = |place: usize| fields.get(place).map(|field| field.trim());
        let needed = |index: usize, reason| {
            let place = self.needed[index];
            at(place).filter(|field| !field.is_empty()).ok_or(Unusable { reason, column: place + 1 })
        };
        let number = |index: usize, reason| -> Result<f64, Unusable> {
            let field = needed(index, reason)?;
            let number = field.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
            number.ok_or(Unusable { reason, column: self.needed[index] + 1 })
        };
        let text = |place: Option<usize>| place.and_then(at).unwrap_or_default().to_owned();
        let (moment, millis) = time(needed(0, "no time")?, self.millis)
            .map_err(|reason| Unusable { reason, column: self.needed[0] + 1 })?;
        let status = number(6, "no status")?;
        if !(100.0..600.0).contains(&status) {
            let reason = "the status is no HTTP status";
            return Err(Unusable { reason, column: self.needed[6] + 1 });
        }
        let good = (200.0..300.0).contains(&status);
        let first = at(self.needed[2]).filter(|field| !field.is_empty());
        let first_token = match first {
            None => None,
            Some(_) => Some(number(2, "first_token_ms is no number")?),
        };
        let total = number(3, "no total_ms")?;
        if first_token.is_some_and(|first| first > total + 0.5) {
            let reason = "first_token_ms is above total_ms: mixed units?";
            return Err(Unusable { reason, column: self.needed[2] + 1 });
        }
        let model = text(self.model);
        let stream = !matches!(text(self.stream).to_ascii_lowercase().as_str(), "false" | "0" | "no");
        if good && stream && first_token.is_none() {
            return Err(Unusable { reason: "no first token time", column: self.needed[2] + 1 });
        }
        let mut cohort = text(self.cohort);
        if cohort.is_empty() {
            let kind = if stream { "stream" } else { "complete" };
            cohort = if model.is_empty() { kind.to_owned() } else { format!("{model} {kind}") };
        }
        let (input, output) = (number(4, "no input_tokens")?, number(5, "no output_tokens")?);
        let route = needed(1, "no route")?.to_owned();
        self.millis = millis;
        Ok(Row {
            at: moment,
            cohort,
            route,
            model,
            stream,
            first_token: first_token.map(span),
            total: span(total),
            input: input as u64,
            output: output as u64,
            good,
            censored: false,
            hedge: None,
            weight: 1,
        })
    }
}

fn span(millis: f64) -> Duration {
    Duration::try_from_secs_f64(millis / 1_000.0).unwrap_or(Duration::MAX)
}

/// A moment, and whether numbers are milliseconds as far as that is known.
fn time(field: &str, millis: Option<bool>) -> Result<(Moment, Option<bool>), &'static str> {
    let Ok(number) = field.parse::<f64>() else {
        let parsed: jiff::Timestamp =
            field.parse().map_err(|_| "the time is neither RFC 3339 nor a number")?;
        return Ok((crate::domain::figure::moment(parsed), millis));
    };
    // 1e11 s is the year 5138, 1e11 ms is 1973, 1e14 ms is 5138 again.
    if !(0.0..1e14).contains(&number) {
        return Err("the time is before 1970 or after 5138: only seconds and milliseconds are known");
    }
    let found = number >= 1e11;
    if millis.is_some_and(|millis| millis != found) {
        return Err("times are in seconds and in milliseconds: mixed units");
    }
    let scaled = if found { number } else { number * 1_000.0 };
    Ok((Moment::from_millis(scaled as u64), Some(found)))
}

/// Fields of a line; quotes around a field may hold commas, two quotes are one.
fn fields(line: &str) -> Vec<Cow<'_, str>> {
    if !line.contains('"') {
        return line.split(',').map(Cow::Borrowed).collect();
    }
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' if quoted && chars.peek() == Some(&'"') => {
                field.push('"');
                chars.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(Cow::Owned(std::mem::take(&mut field))),
            char => field.push(char),
        }
    }
    fields.push(Cow::Owned(field));
    fields
}
