use proptest::prelude::*;

use super::*;

fn walk(bytes: &[u8]) -> Result<&[u8], Fault> {
    Cursor::new(bytes).value(&mut ())
}

#[test]
fn values_end_where_they_should() {
    for (input, wanted) in [
        (r#""a\"b\\" ,"#, r#""a\"b\\""#),
        (r#"{"a":[1,{"b":"]}"}]}x"#, r#"{"a":[1,{"b":"]}"}]}"#),
        ("-1.5e+3]", "-1.5e+3"),
        ("  true}", "true"),
        ("[]", "[]"),
    ] {
        assert_eq!(walk(input.as_bytes()), Ok(wanted.as_bytes()), "{input}");
    }
}

#[test]
fn broken_values_are_faults() {
    for input in ["", "\"a", r#""a\""#, "{", "[}", "{]", "nul", "x", "[[", r#"{"a":"#] {
        assert!(walk(input.as_bytes()).is_err(), "{input}");
    }
    let bomb = "[".repeat(129);
    assert_eq!(walk(bomb.as_bytes()), Err(Fault::Depth { at: 128 }));
    let deep = "[".repeat(128) + &"]".repeat(128);
    assert!(walk(deep.as_bytes()).is_ok());
}

#[test]
fn counts_saturate_and_refuse_signs() {
    for (input, wanted) in [
        ("12", Some(12)),
        ("12.9", Some(12)),
        ("1e3", Some(1000)),
        ("99999999999999999999999", Some(u64::MAX)),
        ("1e300", Some(u64::MAX)),
        ("-1", None),
        ("null", None),
        ("\"1\"", None),
    ] {
        assert_eq!(count(input.as_bytes()), wanted, "{input}");
    }
}

#[test]
fn items_and_entries_stop_at_broken_input() {
    assert_eq!(items(b"[1, \"a\" ,{}]").count(), 3);
    assert_eq!(items(b"{}").count(), 0);
    assert_eq!(entries(br#"{"a":1,"b":tru}"#).count(), 1);
    assert_eq!(get(br#"{"x":{"a":1},"a":2}"#, b"a"), Some(&b"2"[..]));
}

#[test]
fn near_and_far_quotes_are_found() {
    for distance in 0..70 {
        let text = format!("\"{}\\\"{}\" x", "\u{22a2}".repeat(distance / 3), "!".repeat(distance));
        assert_eq!(walk(text.as_bytes()).map(<[u8]>::len), Ok(text.len() - 2), "{text}");
    }
}

proptest! {
    #[test]
    fn long_plain_runs_hide_no_bracket(numbers in proptest::collection::vec(any::<i32>(), 0..40), pad in " {0,20}") {
        let list = format!("[{pad}[{}]{pad},{{\"a\":{pad}1}}{pad}]", serde_json::to_string(&numbers).unwrap());
        prop_assert_eq!(walk(format!("{list} tail").as_bytes()).map(<[u8]>::len), Ok(list.len()));
    }

    #[test]
    fn any_valid_document_is_one_value(text in "\\PC{0,40}", key in "\\PC{0,8}", number in any::<i64>()) {
        let document = serde_json::json!({ key.clone(): [text.clone(), { "n": number, "t": text }], "z": null });
        for bytes in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
            prop_assert!(is_one_value(bytes.as_bytes()));
            let walked = super::entries(bytes.as_bytes()).count();
            prop_assert_eq!(walked, document.as_object().unwrap().len());
        }
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = walk(&bytes);
        let _ = super::entries(&bytes).count();
        let _ = items(&bytes).count();
        let _ = text(&bytes);
    }
}
