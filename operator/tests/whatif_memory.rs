//! `hedgerow replay --from`: memory depends on the number of cohorts and routes and not on that of rows.
//!
//! A program of its own, because the peak of a process is asked for.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::Path,
};

use hedgerow::replay::whatif::{Given, report, whatif};

/// The most memory that this process has ever held, in KiB (proc(5), `VmHWM`).
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Rows of two routes and three cohorts, some of them of no use, in gzip.
fn write(path: &Path, rows: u32) -> u64 {
    let file = BufWriter::new(File::create(path).unwrap());
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    let mut bytes = 0;
    let mut add = |line: String| {
        bytes += line.len() as u64;
        packed.write_all(line.as_bytes()).unwrap();
    };
    add("time,route,first_token_ms,total_ms,input_tokens,output_tokens,status,cohort\n".to_owned());
    for row in 0..rows {
        let (route, cohort) = (["east", "west"][row as usize % 2], row % 3);
        let first = if row % 997 == 0 { String::new() } else { (300 + row % 5_003).to_string() };
        let at = f64::from(row) / 50.0 + 1_795_921_800.0;
        add(format!("{at:.3},{route},{first},9000,1000,{},200,cohort-{cohort}\n", row % 800));
    }
    packed.finish().unwrap().into_inner().unwrap().sync_all().unwrap();
    bytes
}

#[test]
fn a_hundred_times_as_many_rows_take_no_more_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("attempts.csv.gz");
    let told = |rows| {
        let bytes = write(&path, rows);
        let text = report::text(&whatif(&path, &Given::default(), &mut |_| {}).unwrap());
        assert!(text.contains(" 2 routes, 3 cohorts (skipped "), "{text}");
        (bytes, peak())
    };
    let (_, few) = told(3_000);
    let (bytes, many) = told(300_000);
    let grown = many - few;
    println!("{bytes} bytes of rows; peak {few} KiB, then {many} KiB");
    assert!(grown * 1_024 < bytes / 8, "{grown} KiB more for {bytes} bytes of rows");
}
