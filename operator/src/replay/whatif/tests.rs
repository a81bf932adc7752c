//! Files as users have them: good ones, odd ones, broken ones.

use std::{fmt::Write as _, fs, io::Write as _, path::PathBuf};

use super::*;
use crate::replay::model::chance::{Shape, Stream, stream};

/// A file that is there as long as the test.
struct Sheet(tempfile::TempDir);

impl Sheet {
    fn of(text: &str) -> (Self, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("attempts.csv");
        fs::write(&path, text).unwrap();
        (Self(directory), path)
    }
}

const HEADER: &str = "time,route,first_token_ms,total_ms,input_tokens,output_tokens,status,cohort\n";

/// Twenty minutes of two routes, ten requests a second.
fn twenty_minutes(west: &Shape) -> String {
    let east = Shape::lognormal(0.6, 0.5).with_rare(0.05, Shape::lognormal(6.0, 0.3));
    let mut rng = stream(1, Stream::Action, 0);
    let mut text = HEADER.to_owned();
    for request in 0..12_000 {
        let (route, shape) = if request % 2 == 0 { ("east", &east) } else { ("west", west) };
        let first = shape.draw(&mut rng) * 1_000.0;
        let at = 1_795_921_800.0 + f64::from(request) / 10.0;
        let _ = writeln!(text, "{at},{route},{first:.0},{:.0},1000,1000,200,chat", first + 4_000.0);
    }
    text
}

fn stragglers() -> Shape {
    Shape::lognormal(0.6, 0.5).with_rare(0.05, Shape::lognormal(6.0, 0.3))
}

#[test]
fn independent_stragglers_are_worth_a_hedge_and_early_ones_trip() {
    let (sheet, path) = Sheet::of(&twenty_minutes(&stragglers()));
    let text = whatif(&path, &Given::default()).unwrap();
    drop(sheet);
    assert!(text.contains("12,000 attempts, 2026-11-29 to 2026-11-29, 2 routes, 1 cohorts\n"), "{text}");
    assert!(text.contains("INDEPENDENT STRAGGLERS: hedging pays"), "{text}");
    let line = |name: &str| text.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
    assert!(line("p80").contains("trips"), "{text}");
    assert!(line("p95").contains("never"), "{text}");
    assert!(!line("off").contains("recommended") && text.contains("<- recommended"), "{text}");
    assert!(text.contains("extra spend is in tokens"), "{text}");
}

#[test]
fn a_slow_route_is_named_and_not_hedged_away() {
    let (sheet, path) = Sheet::of(&twenty_minutes(&Shape::lognormal(9.0, 0.2)));
    let text = whatif(&path, &Given::default()).unwrap();
    drop(sheet);
    assert!(text.contains("SLOW ROUTE: do not hedge it away. west has a p95 of"), "{text}");
}

#[test]
fn what_cannot_be_read_is_counted_with_its_place() {
    let text = format!(
        "{HEADER}1795921800,east,500,900,10,10,200,chat\n1795921801,east,,900,10,10,200,chat\n\
         1795921802000,east,500,900,10,10,200,chat\n1795921803,east,900,500,10,10,200,chat\n1795921804,ea"
    );
    let (sheet, path) = Sheet::of(&text);
    let mut rows = 0;
    let skipped = rows::read(&path, &mut |_| rows += 1).unwrap();
    drop(sheet);
    assert_eq!((rows, skipped.total()), (1, 4));
    assert_eq!(skipped.0["no first token time"], (1, 3, 3));
    assert_eq!(skipped.0["times are in seconds and in milliseconds: mixed units"], (1, 4, 1));
    assert_eq!(skipped.0["first_token_ms is above total_ms: mixed units?"], (1, 5, 3));
}

#[test]
fn a_file_of_no_use_says_why() {
    for (text, said) in [
        ("", "holds no rows"),
        ("time,route\n", "column first_token_ms is missing"),
        (&format!("{HEADER}x,east,1,2,3,4,200,c\n")[..], "line 2, column 1: the time is neither"),
        ("{\"event\":", "line 1"),
    ] {
        let (sheet, path) = Sheet::of(text);
        let error = whatif(&path, &Given::default()).unwrap_err().to_string();
        drop(sheet);
        assert!(error.contains(said), "{text:?}: {error}");
    }
}

#[test]
fn records_of_a_gateway_count_by_their_weight_and_a_cut_gzip_is_said_to_be_cut() {
    let record = |outcome: &str, kind: &str, weight: u32| {
        format!(
            "{{\"event\":\"hedge_attempt_complete\",\"event_time\":\"2026-11-29T03:10:00Z\",\"kind\":\"{kind}\",\"route\":\"east\",\
             \"cohort\":\"chat\",\"elapsed_ms\":900,\"first_token_ms\":400,\"outcome\":\"{outcome}\",\"sample_weight\":{weight}}}\n"
        )
    };
    let text =
        record("won", "primary", 10) + &record("loser_canceled", "primary", 1) + &record("won", "hedge", 1);
    let (sheet, path) = Sheet::of(&text);
    let mut fit = fit::Fit::default();
    rows::read(&path, &mut |row| fit.add(row)).unwrap();
    let chat = &fit.cohorts["chat"];
    assert_eq!((fit.attempts, chat.originals, chat.hedges), (12, 11, (1, 1)));

    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text.repeat(2_000).as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let cut = sheet.0.path().join("cut.gz");
    fs::write(&cut, &packed[..packed.len() / 2]).unwrap();
    let error = rows::read(&cut, &mut |_| {}).unwrap_err();
    assert!(matches!(error, RowsError::Cut { .. }), "{error}");
}
