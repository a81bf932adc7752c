use bytes::{Buf as _, Bytes};
use fastrand::Rng;

use super::{
    super::{
        dialect::Operation,
        scan::{Key, scan},
        splice::{Change, splice},
    },
    Document, KEPT, Reading,
};

const CHANGE: Change<'_> = Change { model: Some("other"), include_usage: true };

/// Inside of a string: long or short, with escapes of every parity, or a blob.
fn string(rng: &mut Rng) -> String {
    let words = ["plain words, ", "\\\"", "\\\\", "\\\\\\\"", "\\n", "{[", "é", "\\u00e9", ": ", "]}"];
    let length = *rng.choice([3, 400, KEPT - 1, KEPT, KEPT + 1, 3 * KEPT].iter()).unwrap();
    let mut text = String::new();
    if rng.u8(..) < 60 {
        text.push_str("data:image/png;base64,");
        text.extend(std::iter::repeat_n('A', length));
        return text;
    }
    // So that what is kept ends anywhere inside an escape.
    text.extend(std::iter::repeat_n('x', rng.usize(0..4)));
    while text.len() < length {
        text.push_str(rng.choice(words.iter()).unwrap());
    }
    text
}

fn body(rng: &mut Rng) -> String {
    let mut messages = Vec::new();
    while messages.iter().map(String::len).sum::<usize>() < 20_000 {
        messages.push(format!(r#"{{"role":"user","content":"{}"}}"#, string(rng)));
    }
    let messages = messages.join(",");
    let tail =
        *rng.choice([r#","stream":true"#, "", r#","stream":true,"stream_options":{"x":1}"#].iter()).unwrap();
    if rng.bool() {
        format!(r#" {{"model":"m","messages":[{messages}]{tail}}} "#)
    } else {
        format!(r#"{{"messages":[{messages}],"model":"m"{tail}}}"#)
    }
}

/// The document of `body` in pieces.
fn pieces(body: &str, rng: &mut Rng) -> Document {
    let mut reading = Reading::new(Some(body.len() as u64));
    let mut rest = Bytes::copy_from_slice(body.as_bytes());
    while !rest.is_empty() {
        let most = body.len() / rng.usize(2..12);
        let length = rng.usize(1..=rest.len().min(most));
        reading.push(rest.split_to(length));
    }
    reading.finish()
}

fn sent(document: &Document) -> Vec<u8> {
    let scan = scan(document.text()).unwrap();
    let mut body = splice(document, &scan, Operation::ChatCompletions, CHANGE).body;
    body.copy_to_bytes(body.remaining()).to_vec()
}

#[test]
fn pieces_say_and_send_the_same_as_the_whole() {
    let mut cut = 0;
    for seed in 0..1_500 {
        let mut rng = Rng::with_seed(seed);
        let text = body(&mut rng);
        let (document, whole) = (pieces(&text, &mut rng), Document::from(Bytes::from(text.clone())));
        assert_eq!((document.joined(), document.len()), (whole.joined(), whole.len()), "seed {seed}");
        let (found, wanted) = (scan(document.text()).unwrap(), scan(whole.text()).unwrap());
        assert_eq!(found.text_bytes() + document.unread_text(), wanted.text_bytes(), "seed {seed}");
        assert_eq!(found.prompt_head(document.text()), wanted.prompt_head(whole.text()), "seed {seed}");
        for key in [Key::Model, Key::Stream, Key::StreamOptions] {
            assert_eq!(found.raw(key, document.text()), wanted.raw(key, whole.text()), "seed {seed}");
        }
        assert_eq!(sent(&document), sent(&whole), "seed {seed}");
        cut += u32::from(document.is_cut());
    }
    assert!(cut > 500, "only {cut} were cut: little was proved");
}

#[test]
fn what_is_kept_of_a_long_prompt_is_little() {
    let text =
        format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{}"}}]}}"#, "prose ".repeat(16_000));
    let document = pieces(&text, &mut Rng::with_seed(1));
    assert!(document.is_cut() && document.text().len() < KEPT + 200, "{}", document.text().len());
}

#[test]
fn a_body_that_is_not_json_is_not_json_in_pieces_either() {
    let open = format!(r#"{{"model":"m","messages":["{}"#, "x".repeat(3 * KEPT));
    for tail in ["", "\"", "\"]", "\\\"]}", "\"]}}"] {
        let text = open.clone() + tail;
        let document = pieces(&text, &mut Rng::with_seed(3));
        assert_eq!(document.joined(), text.as_bytes());
        assert!(scan(document.text()).is_err(), "{tail}");
    }
}

#[test]
fn small_bodies_and_those_in_very_many_pieces_are_their_own_text() {
    let text = format!(r#"{{"x":"{}"}}"#, "y".repeat(40_000));
    let mut reading = Reading::new(Some(text.len() as u64));
    for part in text.as_bytes().chunks(1_000) {
        reading.push(Bytes::copy_from_slice(part));
    }
    let document = reading.finish();
    assert_eq!((document.text(), document.is_cut()), (&Bytes::from(text), false));
    assert!(Reading::new(None).finish().is_empty());
}
