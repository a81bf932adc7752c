//! Files as users have them: good ones, odd ones, broken ones.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use super::*;
use crate::replay::model::chance::{Shape, Stream, stream};

/// A file that is there as long as the test.
pub(super) struct Sheet(tempfile::TempDir);

impl Sheet {
    pub(super) fn of(text: &str) -> (Self, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("attempts.csv");
        fs::write(&path, text).unwrap();
        (Self(directory), path)
    }
}

fn told(path: &Path) -> Result<String, RowsError> {
    whatif(path, &Given::default(), &mut |_| {}).map(|answer| report::text(&answer))
}

/// Usable rows, and what was left out.
fn read(path: &Path) -> Result<(Vec<Row>, Skipped), RowsError> {
    let mut rows = Vec::new();
    let skipped = rows::read(path, 1, &mut |row| rows.push(row.clone()), &mut |_| {})?;
    Ok((rows, skipped))
}

const HEADER: &str = "time,route,first_token_ms,total_ms,input_tokens,output_tokens,status,cohort\n";

/// Twenty minutes of two routes, ten requests a second.
pub(super) fn twenty_minutes(west: &Shape) -> String {
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

pub(super) fn stragglers() -> Shape {
    Shape::lognormal(0.6, 0.5).with_rare(0.05, Shape::lognormal(6.0, 0.3))
}

#[test]
fn independent_stragglers_are_worth_a_hedge_and_early_ones_trip() {
    let (sheet, path) = Sheet::of(&twenty_minutes(&stragglers()));
    let text = told(&path).unwrap();
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
    let text = told(&path).unwrap();
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
    let (rows, skipped) = read(&path).unwrap();
    drop(sheet);
    assert_eq!((rows.len(), skipped.total()), (1, 4));
    assert_eq!(skipped.0["no first token time"], (1, 3, 3));
    assert_eq!(skipped.0["times are in seconds and in milliseconds: mixed units"], (1, 4, 1));
    assert_eq!(skipped.0["first_token_ms is above total_ms: mixed units?"], (1, 5, 3));
}

#[test]
fn a_file_of_no_use_says_why() {
    for (text, said) in [
        ("", "holds no rows"),
        (
            "time,route\n",
            "line 1, column 11: columns first_token_ms, total_ms, input_tokens, output_tokens, status are missing; needed are time,",
        ),
        (&HEADER.replace(",status", "")[..], "column status is missing"),
        (&HEADER.replace(',', ";")[..], "line 1, column 5: fields are parted by something else than commas"),
        (&format!("time,{HEADER}")[..], "line 1, column 2: column time is there twice"),
        (&format!("{HEADER}x,east,1,2,3,4,200,c\n")[..], "line 2, column 1: the time is neither"),
        ("{\"event\":", "line 1"),
    ] {
        let (sheet, path) = Sheet::of(text);
        let error = told(&path).unwrap_err().to_string();
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
    rows::read(&path, 1, &mut |row| fit.add(row), &mut |_| {}).unwrap();
    let chat = &fit.cohorts["chat"];
    assert_eq!((fit.attempts, chat.originals, chat.hedges), (12, 11, (1, 1)));

    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text.repeat(2_000).as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let cut = sheet.0.path().join("cut.gz");
    fs::write(&cut, &packed[..packed.len() / 2]).unwrap();
    let error = told(&cut).unwrap_err();
    let RowsError::Cut { line, column, .. } = &error else { panic!("{error}") };
    assert!(*line > 100 && *column >= 1, "{error}");
    assert!(error.to_string().contains(&format!("breaks off in line {line}, column {column}: ")), "{error}");
}

#[test]
fn bytes_that_are_no_text_and_endless_lines_are_left_out_one_by_one() {
    let good = "1795921800,east,500,900,10,10,200,chat\n";
    let mut bytes = format!("\u{feff}{HEADER}{good}").into_bytes();
    bytes.extend(b"1795921801,\xffast,500,900,10,10,200,chat\n");
    bytes.extend(vec![b'x'; (1 << 20) + 10]);
    bytes.extend(format!("\n{good}1795921802,east,500,900,10,10,999,chat\n").bytes());
    let (sheet, path) = Sheet::of("");
    fs::write(&path, &bytes).unwrap();
    let (rows, skipped) = read(&path).unwrap();
    drop(sheet);
    assert_eq!((rows.len(), skipped.total()), (2, 3));
    assert_eq!(skipped.0["a line is not UTF-8 text"], (1, 3, 12));
    assert_eq!(skipped.0["a line is longer than 1 MiB"], (1, 4, 1 << 20));
    assert_eq!(skipped.0["the status is no HTTP status"], (1, 6, 7));
    let (sheet, path) = Sheet::of("");
    fs::write(&path, b"\xff\xfet\0i\0m\0e\0\n\0").unwrap();
    let error = told(&path).unwrap_err().to_string();
    drop(sheet);
    assert!(error.contains("line 1, column 1: a line is not UTF-8 text"), "{error}");
}

#[test]
fn times_that_are_no_times_are_told_with_their_column() {
    let row = |time: &str| format!("{time},east,500,900,10,10,200,chat\n");
    for (time, said) in [
        ("-5", "before 1970 or after 5138"),
        ("nan", "before 1970 or after 5138"),
        ("1795921800000000", "before 1970 or after 5138"),
        ("yesterday", "neither RFC 3339 nor a number"),
        ("", "no time"),
    ] {
        let (sheet, path) = Sheet::of(&format!("{HEADER}{}", row(time)));
        let error = told(&path).unwrap_err().to_string();
        drop(sheet);
        assert!(error.contains("line 2, column 1: ") && error.contains(said), "{time}: {error}");
    }
}

#[test]
fn a_clock_that_goes_backwards_is_counted_and_another_log_after_the_first_is_read() {
    let header = "route,first_token_ms,total_ms,input_tokens,output_tokens,status,time\n";
    let row = |second: u32| format!("east,500,900,10,10,200,{}\n", 1_795_921_800 + second);
    let one_back = format!("{header}{}{}{}", row(7_200), row(0), row(7_201));
    let (sheet, path) = Sheet::of(&one_back);
    let (rows, skipped) = read(&path).unwrap();
    drop(sheet);
    let backwards = "its time is half an hour or more before that of an earlier row: sort by time";
    assert_eq!((rows.len(), skipped.0[backwards]), (2, (1, 3, 7)));
    // Two hours of one pod, and then the same two hours of another.
    let pod: String = (0..7_200).map(row).collect();
    let (sheet, path) = Sheet::of(&format!("{header}{pod}{pod}"));
    let (rows, skipped) = read(&path).unwrap();
    drop(sheet);
    assert_eq!((rows.len(), skipped.total()), (14_300, 100));
}

#[test]
fn guardrails_judge_each_of_two_logs_by_its_own_time() {
    let text = twenty_minutes(&stragglers());
    let rows = text.strip_prefix(HEADER).unwrap();
    // Two hours lie between the first log's beginning and its end, so the second goes back.
    let later: String = rows.replace("17959", "17960");
    let trips = |text: &str| {
        let (sheet, path) = Sheet::of(text);
        let told = told(&path).unwrap();
        drop(sheet);
        let line = told.lines().find(|line| line.trim_start().starts_with("p80")).unwrap().to_owned();
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "trips").unwrap();
        if words[at + 1] == "once" { 1 } else { words[at + 1].parse::<u32>().unwrap() }
    };
    let once = trips(&text);
    assert!(once >= 1);
    assert_eq!(trips(&format!("{HEADER}{later}{rows}")), 2 * once, "the second log is judged like the first");
}

#[test]
fn what_is_beyond_the_names_that_are_kept_is_judged_as_one() {
    let text = twenty_minutes(&stragglers());
    let mut many = HEADER.to_owned();
    for cohort in 0..64 {
        let _ = writeln!(many, "1795921700,east,500,900,10,10,200,cohort-{cohort}");
    }
    let rest = text.strip_prefix(HEADER).unwrap();
    let (sheet, path) = Sheet::of(&format!("{many}{rest}"));
    let told = told(&path).unwrap();
    drop(sheet);
    let other = told.split("cohort other (12,000 requests, ").nth(1).expect(&told);
    let p80 = other.lines().find(|line| line.trim_start().starts_with("p80")).unwrap();
    assert!(p80.contains("trips"), "{p80}");
}

#[test]
fn seconds_in_columns_of_milliseconds_are_doubted() {
    let mut text = HEADER.to_owned();
    for request in 0..1_000 {
        let route = if request % 2 == 0 { "east" } else { "west" };
        let _ = writeln!(text, "{},{route},0.6,4.2,10,10,200,chat", 1_795_921_800 + request);
    }
    let (sheet, path) = Sheet::of(&text);
    let told = told(&path).unwrap();
    drop(sheet);
    assert!(told.contains("are the times in seconds?"), "{told}");
}

#[test]
fn the_way_is_told_in_bytes_of_the_file_and_a_pipe_is_refused() {
    let text = twenty_minutes(&stragglers());
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text.repeat(3).as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let (sheet, path) = Sheet::of("");
    fs::write(&path, &packed).unwrap();
    let mut way = Vec::new();
    whatif(&path, &Given::default(), &mut |progress| way.push(*progress)).unwrap();
    assert!(way.iter().all(|at| at.size == packed.len() as u64 && at.read <= at.size), "{way:?}");
    assert!(way.windows(2).all(|pair| pair[0].share() <= pair[1].share()), "{way:?}");
    assert_eq!(way.last().map(|at| (at.reading, at.lines)), Some((2, 32_768)));
    let error = told(sheet.0.path()).unwrap_err().to_string();
    assert!(error.contains("it is no file"), "{error}");
}
