//! The three tellings of one answer: the same figures, and nothing that a page may not have.

use hedgerow_policy::ledger::Prices;
use serde_json::{Value, json};

use super::*;
use crate::replay::{
    model::{chance::Shape, terms},
    whatif::{
        Answer, Given,
        tests::{Sheet, stragglers, twenty_minutes},
        whatif,
    },
};

/// 3 and 15 EUR per million tokens on both routes, and an objective of 3 s.
fn given() -> Given {
    let micros = |euros: u64| euros * 1_000_000;
    let prices =
        Prices { input: micros(3), output: micros(15), cache_read: micros(3), cache_write: micros(3) };
    let of = |route: &str| ((route.to_owned(), String::new()), prices);
    Given {
        policy: terms::policy(
            &json!({ "cohorts": [{ "name": "chat", "objective": { "firstToken": "3s" } }] }),
        ),
        prices: [of("east"), of("west")].into(),
        currency: "EUR".into(),
    }
}

fn answer(west: &Shape, given: &Given) -> Answer {
    let broken = "1795921900,west,,900,10,10,200,chat\n";
    let (sheet, path) = Sheet::of(&format!("{}{broken}", twenty_minutes(west)));
    let answer = whatif(&path, given, &mut |_| {}).unwrap();
    drop(sheet);
    answer
}

fn delay<'a>(told: &'a Value, name: &str) -> &'a Value {
    let delays = told["cohorts"][0]["delays"].as_array().unwrap();
    delays.iter().find(|delay| delay["name"] == name).unwrap()
}

#[test]
fn money_is_told_in_the_currency_of_the_fleet_everywhere() {
    let answer = answer(&stragglers(), &given());
    let (told, words, page) = (json(&answer), text(&answer), html(&answer));
    let cohort = &told["cohorts"][0];
    // 12,000 originals of 1,000 tokens in and out: 0.018 EUR each, 0.003 of it input.
    assert_eq!((cohort["spend"].as_f64(), cohort["spendUnit"].as_str()), (Some(216.0), Some("EUR")));
    let p95 = delay(&told, "p95");
    let (duplicates, extra) =
        (p95["duplicatePercent"].as_f64().unwrap(), p95["extraSpendPercent"].as_f64().unwrap());
    assert!((extra - duplicates / 6.0).abs() < 0.002, "{p95}");
    let money = p95["extraSpend"].as_f64().unwrap();
    assert!((money - 216.0 * extra / 100.0).abs() < 0.01, "{p95}");
    let amount = format!("{}.{:02} EUR", money as u64, (money.fract() * 100.0) as u64);
    assert!(words.contains("216.00 EUR") && words.contains(&amount), "{amount}: {words}");
    assert!(page.contains("216.00 EUR") && page.contains(&amount), "{amount}");
}

#[test]
fn programs_and_pages_are_told_what_the_terminal_says() {
    let answer = answer(&stragglers(), &given());
    let (told, words, page) = (json(&answer), text(&answer), html(&answer));
    assert_eq!(told["attempts"], 12_000);
    assert_eq!(
        told["skipped"],
        json!({ "rows": 1, "reasons": [
            { "reason": "no first token time", "rows": 1, "firstLine": 12_002, "firstColumn": 3 },
        ] })
    );
    assert!(
        words.contains("(skipped 1 rows: 1: no first token time, first in line 12002, column 3)"),
        "{words}"
    );
    assert!(page.contains("<td>no first token time</td><td>1</td><td>12002</td><td>3</td>"), "{page}");
    let cohort = &told["cohorts"][0];
    assert_eq!((&cohort["diagnosis"], &cohort["hedge"]), (&json!("IndependentStragglers"), &json!(true)));
    let chosen = cohort["recommended"].as_str().unwrap();
    assert!(["p95", "optimal"].contains(&chosen), "{cohort}");
    let why = cohort["recommendation"].as_str().unwrap();
    assert!(why.starts_with(&format!("Recommended: {chosen}. It takes p99 from ")), "{why}");
    assert!(why.contains("faster, but tripping: p80"), "{why}");
    assert!(words.contains(why) && page.contains(why), "{why}");
    let p80 = delay(&told, "p80");
    assert!(p80["trips"].as_u64() > Some(0) && p80["trippedBy"] == json!(["duplicateRate"]), "{p80}");
    assert!(words.contains("(duplicateRate)") && page.contains("(duplicateRate)"));
    // Of 3 s: all stragglers of nobody, and hardly any with hedges.
    let missed = |name| delay(&told, name)["deadlineMissPercent"].as_f64().unwrap();
    assert!((4.0..6.0).contains(&missed("off")) && missed("p95") < missed("off"), "{told:#}");
    assert!(words.contains("over 3s") && page.contains("<th>Over 3s</th>"), "{words}");
    assert_eq!(delay(&told, "off")["trips"], Value::Null);
}

#[test]
fn what_must_not_be_hedged_is_said_in_all_three() {
    let answer = answer(&Shape::lognormal(9.0, 0.2), &Given::default());
    let (told, words, page) = (json(&answer), text(&answer), html(&answer));
    let cohort = &told["cohorts"][0];
    assert_eq!((&cohort["diagnosis"], &cohort["hedge"]), (&json!("SlowRoute"), &json!(false)));
    assert_eq!((&cohort["recommended"], &cohort["spendUnit"]), (&json!("off"), &json!("tokens")));
    assert_eq!(told["priced"], false);
    for telling in [cohort["recommendation"].as_str().unwrap(), &words, &page] {
        assert!(telling.contains("Do not hedge this: let the breaker eject the slow route."), "{telling}");
    }
    assert!(!words.contains("<- recommended") && !page.contains(">recommended<"));
    assert!(page.contains("extra spend is in tokens") && words.contains("extra spend is in tokens"));
}

#[test]
fn one_route_without_a_price_is_said_where_others_have_one() {
    let mut given = given();
    given.prices.retain(|(route, _), _| route == "east");
    let answer = answer(&stragglers(), &given);
    let told = json(&answer);
    assert_eq!((&told["priced"], &told["cohorts"][0]["spendUnit"]), (&json!(true), &json!("tokens")));
    for telling in [told["cohorts"][0]["doubts"][0].as_str().unwrap(), &text(&answer), &html(&answer)] {
        assert!(telling.contains("a route has no price for the model of these records"), "{telling}");
    }
}

#[test]
fn the_page_is_one_file_that_draws_tails_and_duplicates_against_their_limit() {
    let page = html(&answer(&stragglers(), &given()));
    assert_eq!(page.matches("<svg ").count(), 2, "two pictures of one cohort");
    for part in [
        "slower requests in percent",
        "hedges per 100 requests",
        "time since the first row in min",
        "limit",
        "Shaded: the guardrail has suspended p80.",
        "delay of ",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for foreign in ["<script", "<link", "href=", "src=", "url(", "nothing was measured"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn names_from_a_file_stay_text() {
    let rows = twenty_minutes(&stragglers()).replace(",chat\n", ",<b>&chat\n");
    let (sheet, path) = Sheet::of(&rows);
    let page = html(&whatif(&path, &Given::default(), &mut |_| {}).unwrap());
    drop(sheet);
    assert!(page.contains("cohort &lt;b&gt;&amp;chat") && !page.contains("<b>"));
}
