//! `docs/operator-metrics.md` says what the operator shows. It is made from the text that Prometheus reads, after one event of
//! each kind: names, types, labels and help cannot differ from the code. `UPDATE_GOLDEN=1` rewrites it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it stands")]

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path, time::Duration};

use hedgerow::{
    cluster::FleetId,
    domain::{CohortKey, guardrail::Decision},
    runtime::metrics::Metrics,
};
use hedgerow_crds::condition::Reason;
use hedgerow_policy::{guardrail::State, time::Moment};

/// What a scrape says after everything has happened once.
fn text() -> String {
    let metrics = Metrics::default();
    let id = FleetId { namespace: "n".into(), name: "f".into() };
    metrics.leads(true);
    metrics.decided(
        "n",
        &Decision {
            fleet: "f".into(),
            key: CohortKey { policy: "p".into(), cohort: "c".into() },
            at: Moment::ZERO,
            from: State::Active,
            to: State::Suspended,
            transition: 1,
            reason: Reason::ExtraSpendExceeded,
            reading: None,
            breached: None,
            line: String::new(),
        },
    );
    metrics.cohorts(&id, [("p".to_owned(), "c".to_owned(), "Active".to_owned())].into_iter());
    metrics.reconciled(Duration::from_millis(3));
    metrics.failed("apply");
    metrics.scrape_failed(&id);
    metrics.pods(&id, [2, 2, 2]);
    metrics.watch_failed("HedgePolicy");
    metrics.wrote("ConfigMap");
    metrics.text()
}

/// Label names of every sample of a family, histogram bounds aside.
fn labels(text: &str, family: &str) -> BTreeSet<String> {
    let samples = text.lines().filter(|line| line.starts_with(family) && line.contains('{'));
    let sets = samples.map(|line| line.split(['{', '}']).nth(1).unwrap());
    let names = sets.flat_map(|set| set.split(',').map(|pair| pair.split('=').next().unwrap().to_owned()));
    names.filter(|name| name != "le").collect()
}

#[test]
fn the_document_is_what_a_scrape_says() {
    let text = text();
    let mut expected = "# Metrics of the operator\n\n\
        Scraped at `/metrics` of port 8081, OpenMetrics 1.0. Labels are names of objects and words of closed lists. Only the leader\n\
        has samples of fleets and cohorts. Generated from `operator/src/runtime/metrics.rs`.\n\n\
        | Name | Type | Labels | Says |\n| --- | --- | --- | --- |\n"
        .to_owned();
    for line in text.lines().filter_map(|line| line.strip_prefix("# HELP ")) {
        let (family, help) = line.split_once(' ').unwrap();
        let kind = text.lines().find_map(|line| line.strip_prefix(&format!("# TYPE {family} "))).unwrap();
        let name = if kind == "counter" { format!("{family}_total") } else { family.to_owned() };
        let labels: Vec<_> = labels(&text, family).into_iter().map(|label| format!("`{label}`")).collect();
        let help = help.trim_end_matches('.');
        writeln!(expected, "| `{name}` | {kind} | {} | {help} |", labels.join(", ")).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operator-metrics.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/operator-metrics.md is stale; UPDATE_GOLDEN=1 rewrites it. Now:\n{expected}"
    );
}
