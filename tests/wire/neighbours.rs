//! Neighbours of the cases: every cut of a stream's bytes, every style of line ends, every place of usage, every moment at
//! which a client can leave.
//!
//! Why: a report shows one position at which another gateway broke; the fault is at the next one. Each test plays all of
//! them against one gateway, one after the other, and holds bytes and books as a case does.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use tokio::task::JoinSet;

use crate::{
    case::{Case, Head, Request, Step},
    client::{self, Answer},
    gateway::Gateway,
    provider::Provider,
};

/// A whole answer of each dialect as a stream, with characters of several bytes in it.
const STREAMS: [(&str, &str); 3] = [
    (
        "/v1/chat/completions",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n: wait\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"zq-answer-52c8 H\u{e9} \u{754c}\u{1f642}\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n",
    ),
    (
        "/v1/responses",
        "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{}}\n\nevent: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"zq-answer-52c8 H\u{e9}\"}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":3}}}\n\n",
    ),
    (
        "/v1/messages",
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"zq-answer-52c8 H\u{e9}\"}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    ),
];
/// Cost of each of them in micro-units, at one per token.
const COST: u64 = 12;
/// Longest wait for effects.
const SOON: Duration = Duration::from_secs(5);

/// One gateway before one provider that plays these scripts.
struct Bench {
    gateway: Gateway,
    providers: BTreeMap<String, Provider>,
    path: &'static str,
}

impl Bench {
    async fn start(path: &'static str, scripts: Vec<Vec<Step>>) -> Self {
        let text = format!(
            "{{id: neighbours, about: all, request: {{path: {path}}}, routes: {{}}, expect: {{}}, \
             route: {{breaker: {{consecutiveFailures: 0, failurePercent: 0}}}}, settings: {{defaults: {{retry: {{maxAttempts: 1}}}}}}}}"
        );
        let case: Case = serde_saphyr::from_str(&text).unwrap();
        let providers = BTreeMap::from([("a".to_owned(), Provider::start(scripts).await)]);
        Self { gateway: Gateway::start(&case, &providers).await, providers, path }
    }

    fn request(&self) -> Request {
        Request { path: self.path.to_owned(), ..Request::default() }
    }

    async fn ask(&self, request: &Request) -> Answer {
        client::ask(self.gateway.address, request).await.unwrap()
    }

    fn sent(&self) -> Vec<u8> {
        self.providers["a"].seen.lock().unwrap().sent.clone()
    }

    /// Micro-units that were booked for answers that were whole, once nothing is in flight.
    async fn booked(&self) -> u64 {
        let idle = async {
            while !self.gateway.in_flight().await.is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(SOON, idle).await.expect("nothing in flight");
        let exact = |line: &&String| {
            line.starts_with("hedgerow_spend_micros_total{")
                && line.contains("\"winner\"")
                && line.contains("\"exact\"")
        };
        let lines = self.gateway.metrics().await;
        lines
            .iter()
            .filter(exact)
            .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64)
            .sum()
    }
}

/// The stream in two chunks.
fn cut(stream: &[u8], at: usize) -> Vec<Step> {
    vec![Step::Head(Head::default()), chunk(&stream[..at]), chunk(&stream[at..]), Step::End]
}

fn chunk(bytes: &[u8]) -> Step {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(digits, "{byte:02x}").unwrap();
    }
    Step::Hex(digits)
}

/// Plays all scripts; every one must arrive whole and be booked exactly.
async fn all_whole(path: &'static str, stream: bool, scripts: Vec<Vec<Step>>, what: &str) {
    let count = scripts.len() as u64;
    let bench = Bench::start(path, scripts).await;
    let request = Request { stream, ..bench.request() };
    for turn in 0..count {
        let answer = bench.ask(&request).await;
        let body = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(answer.status == 200 && answer.ended, "{path}, {what} {turn}: {} {body}", answer.status);
        assert_eq!(answer.body, bench.sent(), "{path}, {what} {turn}");
    }
    assert_eq!(bench.booked().await, count * COST, "{path}, {what}: micro-units of {count} answers");
    bench.gateway.stop().await;
}

#[tokio::test]
async fn no_position_of_a_cut_between_two_chunks_changes_an_answer() {
    for (path, stream) in STREAMS {
        let bytes = stream.as_bytes();
        all_whole(path, true, (1..bytes.len()).map(|at| cut(bytes, at)).collect(), "cut after byte").await;
    }
}

/// A whole answer of each dialect.
const WHOLE: [(&str, &str); 3] = [
    (
        "/v1/chat/completions",
        r#"{"choices":[{"index":0,"message":{"content":"zq-answer-52c8 \"{[é"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}"#,
    ),
    (
        "/v1/responses",
        r#"{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"zq-answer-52c8"}]}],"usage":{"input_tokens":9,"output_tokens":3}}"#,
    ),
    (
        "/v1/messages",
        r#"{"type":"message","content":[{"type":"text","text":"zq-answer-52c8 \\"}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":3}}"#,
    ),
];

#[tokio::test]
async fn no_position_of_a_cut_between_two_chunks_changes_a_whole_answer() {
    for (path, answer) in WHOLE {
        let bytes = answer.as_bytes();
        let script = |at: usize| {
            let head = Head { media: "application/json".to_owned(), ..Head::default() };
            vec![Step::Head(head), chunk(&bytes[..at]), chunk(&bytes[at..]), Step::End]
        };
        all_whole(path, false, (1..bytes.len()).map(script).collect(), "cut after byte").await;
    }
}

#[tokio::test]
async fn every_style_of_line_ends_is_read_and_passed_on_as_it_is() {
    for (path, stream) in STREAMS {
        let styles: Vec<String> = vec![
            stream.replace('\n', "\r\n"),
            stream.replace('\n', "\r"),
            stream.replace("\n\n", "\r\n\n"),
            stream.replace("\n\n", "\n\r\n"),
            format!("\u{feff}{stream}"),
        ];
        let cuts = styles.iter().flat_map(|text| {
            let bytes = text.as_bytes();
            // Where a line ends is where a reader can be one byte too early.
            let ends = (1..bytes.len()).filter(|at| bytes[at - 1] == b'\r' || bytes[*at] == b'\n' || *at < 4);
            ends.map(|at| cut(bytes, at)).collect::<Vec<_>>()
        });
        all_whole(path, true, cuts.collect(), "style").await;
    }
}

#[tokio::test]
async fn wherever_usage_stands_streamed_and_whole_cost_the_same() {
    const USAGE: &str = r#""usage":{"prompt_tokens":9,"completion_tokens":3}"#;
    const RUNNING: &str = r#""usage":{"prompt_tokens":9,"completion_tokens":1}"#;
    let token =
        |more: &str| format!(r#"data: {{"choices":[{{"index":0,"delta":{{"content":"Hi"}}}}]{more}}}"#);
    let finish = |more: &str| {
        format!(r#"data: {{"choices":[{{"index":0,"delta":{{}},"finish_reason":"stop"}}]{more}}}"#)
    };
    let with = |usage: &str| format!(",{usage}");
    let places = [
        vec![token(""), finish(&with(USAGE))],
        vec![token(""), finish(""), format!("data: {{{USAGE}}}")],
        vec![token(""), finish(""), format!(r#"data: {{"choices":null,{USAGE}}}"#)],
        vec![token(&with(RUNNING)), finish(&with(USAGE))],
        vec![token(&with(RUNNING)), finish(""), format!(r#"data: {{{USAGE},"choices":[]}}"#)],
        vec![token(&with(USAGE)), finish(r#","usage":null"#)],
        vec![format!(r#"data: {{"choices":[],{USAGE}}}"#), token(""), finish("")],
    ];
    for (number, place) in places.iter().enumerate() {
        let text = place.join("\n\n") + "\n\ndata: [DONE]\n\n";
        let bench =
            Bench::start(STREAMS[0].0, vec![vec![Step::Head(Head::default()), Step::Send(text), Step::End]])
                .await;
        // The client asks for usage itself, so that nothing is kept from it.
        let body = serde_json::json!({ "stream_options": { "include_usage": true } });
        let answer = bench.ask(&Request { body, ..bench.request() }).await;
        assert_eq!(answer.body, bench.sent(), "place {number}");
        assert_eq!(bench.booked().await, COST, "place {number}");
        bench.gateway.stop().await;
    }
    let body = format!(r#"{{"choices":[{{"message":{{"content":"Hi"}},"finish_reason":"stop"}}],{USAGE}}}"#);
    let head = Head { media: "application/json".to_owned(), body, ..Head::default() };
    let bench = Bench::start(STREAMS[0].0, vec![vec![Step::Answer(head)]]).await;
    bench.ask(&Request { stream: false, ..bench.request() }).await;
    assert_eq!(bench.booked().await, COST, "whole");
    bench.gateway.stop().await;
}

#[tokio::test]
async fn wherever_the_other_dialects_put_usage_it_is_booked_once() {
    let start = |usage: &str| format!(r#"data: {{"type":"message_start","message":{{"id":"x"{usage}}}}}"#);
    let delta = |usage: &str| {
        format!(r#"data: {{"type":"message_delta","delta":{{"stop_reason":"end_turn"}}{usage}}}"#)
    };
    let token =
        r#"data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"zq-answer-52c8"}}"#;
    let stop = r#"data: {"type":"message_stop"}"#;
    let messages = [
        [start(r#","usage":{"input_tokens":9,"output_tokens":1}"#), delta(r#","usage":{"output_tokens":3}"#)],
        [
            start(r#","usage":{"input_tokens":9,"output_tokens":3}"#),
            delta(r#","usage":{"input_tokens":9,"output_tokens":3}"#),
        ],
        [start(""), delta(r#","usage":{"input_tokens":9,"output_tokens":3}"#)],
        [start(r#","usage":{"input_tokens":9,"output_tokens":3}"#), delta("")],
        // Parts of the end that are zero say nothing.
        [
            start(r#","usage":{"input_tokens":9,"output_tokens":1}"#),
            delta(r#","usage":{"input_tokens":0,"output_tokens":3}"#),
        ],
    ];
    let said = r#"data: {"type":"response.output_text.delta","delta":"zq-answer-52c8"}"#;
    let usage = r#""usage":{"input_tokens":9,"output_tokens":3}"#;
    let responses = [
        format!(r#"data: {{"type":"response.completed","response":{{{usage}}}}}"#),
        format!(
            r#"data: {{"response":{{"output":[],{usage},"status":"completed"}},"type":"response.completed"}}"#
        ),
        format!(r#"data: {{"type":"response.incomplete","response":{{"status":"incomplete",{usage}}}}}"#),
        format!("event: response.completed\ndata: {{\"response\":{{{usage}}}}}"),
    ];
    let script = |frames: Vec<&str>| {
        vec![Step::Head(Head::default()), Step::Send(frames.join("\n\n") + "\n\n"), Step::End]
    };
    let scripts = messages
        .iter()
        .map(|[start, delta]| script(vec![start.as_str(), token, delta.as_str(), stop]))
        .collect();
    all_whole("/v1/messages", true, scripts, "place").await;
    let scripts = responses.iter().map(|end| script(vec![said, end.as_str()])).collect();
    all_whole("/v1/responses", true, scripts, "place").await;
}

/// What is wrong with an answer that its provider broke off, if anything.
fn hidden_cut(answer: &Answer) -> Option<String> {
    let body = String::from_utf8_lossy(&answer.body);
    let told = body.contains("\"gateway_upstream_failed") || body.contains("\"gateway_truncated");
    let seen = told && answer.ended == (answer.status != 200);
    (!seen).then(|| format!("{} {body:?}", answer.status))
}

#[tokio::test]
async fn a_provider_that_breaks_off_anywhere_is_seen_to_have_broken_off() {
    for (path, stream) in STREAMS {
        let bytes = stream.as_bytes();
        let cuts: Vec<usize> = (1..bytes.len() - 2).collect();
        let script = |at: &usize| vec![Step::Head(Head::default()), chunk(&bytes[..*at]), Step::Close];
        let bench = Bench::start(path, cuts.iter().map(script).collect()).await;
        // A broken body is held open for a moment, so several at once; fewer than the lane carries.
        for some in cuts.chunks(16) {
            let mut asking = JoinSet::new();
            for _ in some {
                let (address, request) = (bench.gateway.address, bench.request());
                asking.spawn(async move { client::ask(address, &request).await.unwrap() });
            }
            while let Some(answer) = asking.join_next().await {
                let wrong = hidden_cut(&answer.unwrap());
                assert_eq!(wrong, None, "{path}, one of the cuts after bytes {some:?}");
            }
        }
        assert_eq!(bench.booked().await, 0, "{path}: none of them was whole");
        bench.gateway.stop().await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_at_any_moment_leaves_nothing_behind() {
    for (path, stream) in STREAMS {
        let frames: Vec<&str> = stream.split_inclusive("\n\n").collect();
        let mut script = vec![Step::Ms(5), Step::Head(Head::default())];
        for frame in &frames {
            script.extend([Step::Send((*frame).to_owned()), Step::Ms(5)]);
        }
        script.push(Step::End);
        // Before the head, inside the head, then after each millisecond of the answer.
        let moments: Vec<u64> = (0..10 + 6 * frames.len() as u64).collect();
        let bench = Bench::start(path, vec![script; moments.len()]).await;
        for moment in moments {
            let request = Request { leave_ms: Some(moment), ..bench.request() };
            bench.ask(&request).await;
        }
        let booked = bench.booked().await;
        assert!(booked.is_multiple_of(COST), "{path}: {booked} micro-units are no whole answers");
        bench.gateway.stop().await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_a_race_at_any_moment_leaves_nothing_behind() {
    let (path, stream) = STREAMS[0];
    let text = format!(
        "{{id: race, about: all, hedge_ms: 10, request: {{path: {path}}}, routes: {{}}, expect: {{}}}}"
    );
    let case: Case = serde_saphyr::from_str(&text).unwrap();
    // Silent, then both speak at once, so that some leave in the moment in which one of them wins.
    let mut script = vec![Step::Ms(25), Step::Head(Head::default())];
    for frame in stream.split_inclusive("\n\n") {
        script.extend([Step::Send(frame.to_owned()), Step::Ms(2)]);
    }
    script.push(Step::End);
    let moments = 60;
    let mut providers = BTreeMap::new();
    for name in ["a", "b"] {
        providers.insert(name.to_owned(), Provider::start(vec![script.clone(); moments]).await);
    }
    let gateway = Gateway::start(&case, &providers).await;
    for moment in 0..moments as u64 {
        let request = Request { path: path.to_owned(), leave_ms: Some(moment), ..Request::default() };
        client::ask(gateway.address, &request).await.unwrap();
    }
    let idle = async {
        while !gateway.in_flight().await.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, idle).await.expect("nothing in flight");
    let seen: usize = providers.values().map(|provider| provider.seen.lock().unwrap().requests.len()).sum();
    let booked: f64 = gateway
        .metrics()
        .await
        .iter()
        .filter(|line| line.starts_with("hedgerow_attempts_total{") && !line.contains("\"withdrawn\""))
        .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
        .sum();
    assert!(booked as usize >= seen && seen > moments, "{booked} booked, {seen} seen");
    gateway.stop().await;
}
