use super::*;
use crate::{dialect::Endpoint, profile::*};

fn ask(prompt: &str) -> Ask {
    let body = serde_json::json!({"model": "m", "messages": [{"role": "user", "content": prompt}]});
    Ask::read(Endpoint::Chat, None, body.to_string().as_bytes(), "a").unwrap()
}

fn plan(profile: &Profile, ask: &Ask, seed: u64) -> Plan {
    let mut prompt = Rng::with_seed(ask.fingerprint);
    decide(profile, ask, 1, &mut Rng::with_seed(seed), &mut prompt)
}

fn script(profile: &Profile, ask: &Ask, seed: u64) -> Script {
    match plan(profile, ask, seed) {
        Plan::Answer(script) => script,
        Plan::Refuse(refusal) => panic!("refused: {refusal:?}"),
    }
}

#[test]
fn prompt_bound_latency_is_the_same_at_every_provider() {
    let profile = Profile {
        first_token: Latency::lognormal(500.0, 0.8),
        prompt_bound_percent: 50.0,
        ..Profile::default()
    };
    let same = (0..400)
        .filter(|n| {
            let ask = ask(&format!("question {n}"));
            script(&profile, &ask, 1000 + n).first_token == script(&profile, &ask, 9000 + n).first_token
        })
        .count();
    assert!((150..250).contains(&same), "{same} of 400 prompts took the same time at both");
}

#[test]
fn a_storm_hits_its_share() {
    let profile = Profile { storms: vec![Storm::of(30.0, 503).retry_after(2.0)], ..Profile::default() };
    let ask = ask("x");
    let hits = (0..2000).filter(|seed| matches!(plan(&profile, &ask, *seed), Plan::Refuse(_))).count();
    assert!((540..660).contains(&hits), "{hits} of 2000");
}

#[test]
fn a_storm_does_not_shift_the_draws_of_the_others() {
    let calm = Profile { first_token: Latency::lognormal(500.0, 0.8), ..Profile::default() };
    let stormy = Profile { storms: vec![Storm::of(0.0, 500), Storm::of(0.0, 503)], ..calm.clone() };
    assert_eq!(script(&calm, &ask("x"), 3), script(&stormy, &ask("x"), 3));
}

#[test]
fn a_marker_overrules_the_profile_and_the_load() {
    let profile = Profile {
        load: Some(Load { capacity: 1, knee: 0.0, ..Load::default() }),
        storms: vec![Storm::of(0.0, 500)],
        ..Profile::default()
    };
    let ordered = script(&profile, &ask(r#"@sim {"firstTokenMs":70,"tokens":3,"gapMs":5} @"#), 1);
    assert_eq!(ordered.first_token, Duration::from_millis(70));
    assert_eq!((ordered.tokens, ordered.end()), (3, Duration::from_millis(80)));
    let loaded = script(&profile, &ask("x"), 1);
    assert_eq!(loaded.first_token, Duration::from_millis(100), "20 ms x (1 + 4 x 1)");
}

#[test]
fn the_clients_cap_shortens_the_answer_and_says_so() {
    let mut ask = ask("x");
    ask.max_tokens = Some(5);
    let capped = script(&Profile::default(), &ask, 1);
    assert_eq!((capped.tokens, capped.capped), (5, true));
    ask.max_tokens = Some(16);
    assert!(!script(&Profile::default(), &ask, 1).capped);
}

#[test]
fn generated_tokens_follow_the_clock() {
    let script = script(&Profile::default(), &ask("x"), 1);
    let after = |ms| script.generated(Duration::from_millis(ms));
    assert_eq!([after(0), after(19), after(20), after(22), after(23), after(900)], [0, 0, 1, 2, 2, 16]);
    let at_once = Script { gap: Duration::ZERO, ..script };
    assert_eq!(at_once.generated(Duration::from_millis(20)), 16);
}
