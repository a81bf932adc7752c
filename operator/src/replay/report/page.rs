//! What every page of `hedgerow replay` has: its head, its pictures, its end. No script, nothing fetched.

use std::fmt::Write as _;

use crate::chart::{Chart, escaped};

const STYLE: &str = include_str!("../../demo/report/style.css");

/// The page up to its first section; `lead` says what it is about.
pub fn head(lead: &str) -> String {
    let mut page = String::with_capacity(200_000);
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Hedgerow replay</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>Hedgerow replay</h1>\n\
         <p class=\"lead\">{}</p>\n",
        escaped(lead)
    );
    page
}

/// A picture under the sentence that says what to see.
pub(crate) fn picture(see: &str, chart: &Chart) -> String {
    let (see, chart) = (escaped(see), chart.svg());
    format!("<p class=\"see\">{see}</p>\n<div class=\"picture\">{chart}</div>\n")
}

/// The end.
pub fn foot(note: &str) -> String {
    format!("<footer>{}</footer>\n</body>\n</html>\n", escaped(note))
}
