use serde_json::json;

use super::*;

fn one(text: &str) -> Node {
    let parsed = parse(text);
    assert!(parsed.stopped.is_none(), "{:?}", parsed.stopped);
    let mut documents = parsed.documents;
    assert_eq!(documents.len(), 1);
    documents.remove(0)
}

fn stopped(text: &str) -> (String, u32, u32) {
    let problem = parse(text).stopped.unwrap();
    (problem.rule, problem.at.line, problem.at.column)
}

#[test]
fn plain_scalars_get_the_value_that_kubectl_sends() {
    for (text, value, trapped) in [
        ("a", json!("a"), false),
        ("true", json!(true), false),
        ("~", json!(null), false),
        ("12", json!(12), false),
        ("-3", json!(-3), false),
        ("5.0", json!(5), false),
        ("1e3", json!(1000), false),
        ("2.5", json!(2.5), false),
        ("0x10", json!(16), false),
        ("1.2.3", json!("1.2.3"), false),
        ("30s", json!("30s"), false),
        ("2024-10-21", json!("2024-10-21"), false),
        ("Off", json!(false), true),
        ("yes", json!(true), true),
        ("0755", json!(493), true),
        ("1_000", json!(1000), true),
        ("\"Off\"", json!("Off"), false),
        ("'0755'", json!("0755"), false),
        ("!!str 12", json!("12"), false),
        ("99999999999999999999", json!(1e20), false),
    ] {
        let node = one(&format!("x: {text}"));
        assert_eq!(node.value(), json!({ "x": value }), "{text}");
        assert_eq!(!traps(&node).is_empty(), trapped, "{text}");
    }
}

#[test]
fn a_path_leads_to_line_and_column_of_the_key() {
    let node = one("spec:\n  models:\n    - name: a\n    - name: b\n      weird.key: 1\n");
    for (path, line, column) in [
        ("spec", 1, 1),
        ("spec.models", 2, 3),
        ("spec.models[1]", 4, 7),
        ("spec.models[1].name", 4, 7),
        ("spec.models[1][weird.key]", 5, 7),
        ("spec.models[0].absent", 3, 7),
        ("absent", 1, 1),
    ] {
        let at = node.locate(&Path::parse(path));
        assert_eq!((at.line, at.column), (line, column), "{path}");
    }
}

#[test]
fn paths_read_back_as_they_are_shown() {
    for text in ["spec.cohorts[0].match.headers", "metadata.name", "spec.models[12].pricing"] {
        assert_eq!(Path::parse(text).to_string(), text);
    }
    let root = json!({ "spec": { "list": [{ "a/b": 1 }], "map": { "0": 2 } } });
    assert_eq!(Path::from_pointer("/spec/list/0/a~1b", &root).to_string(), "spec.list[0][a/b]");
    assert_eq!(Path::from_pointer("/spec/map/0", &root).to_string(), "spec.map.0");
}

#[test]
fn a_duplicate_key_is_found_where_it_stands_and_the_first_one_counts() {
    let node = one("a: 1\nb:\n  c: 2\n  c: 3\n");
    let found = traps(&node);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].1.rule.as_str(), found[0].1.at.line), ("yaml/duplicate-key", 4));
    assert_eq!(node.value(), json!({ "a": 1, "b": { "c": 2 } }));
}

#[test]
fn what_is_not_portable_yaml_is_refused_with_its_place() {
    for (text, rule, line) in [
        ("a: [1\n", "yaml/syntax", 1),
        ("a:\n\tb: 1\n", "yaml/tab", 2),
        ("a: *nothing\n", "yaml/alias", 1),
        ("a: &x [*x]\n", "yaml/alias", 1),
        ("b: &x {c: 1}\na:\n  <<: *x\n", "yaml/merge-key", 3),
        ("a: !secret b\n", "yaml/tag", 1),
        ("? [1, 2]\n: b\n", "yaml/key", 1),
    ] {
        let (found, at, _) = stopped(text);
        assert_eq!((found.as_str(), at), (rule, line), "{text:?}");
    }
}

#[test]
fn aliases_are_expanded_but_not_into_a_bomb() {
    assert_eq!(one("a: &x {b: 1}\nc: *x\n").value(), json!({ "a": { "b": 1 }, "c": { "b": 1 } }));
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..9 {
        let item = format!("*a{}", level - 1);
        bomb.extend([format!("a{level}: &a{level} [{}]\n", vec![item; 10].join(","))]);
    }
    assert_eq!(stopped(&bomb).0, "yaml/size");
}

#[test]
fn byte_order_marks_and_windows_line_ends_are_harmless() {
    let node = one("\u{feff}a: 1\r\nb: x\r\n");
    assert_eq!(node.value(), json!({ "a": 1, "b": "x" }));
    assert_eq!(node.locate(&Path::parse("b")).line, 2);
}

#[test]
fn deep_nesting_is_refused() {
    assert_eq!(stopped(&format!("{}{}", "[".repeat(100), "]".repeat(100))).0, "yaml/depth");
}

#[test]
fn documents_before_a_syntax_error_are_kept_and_empty_ones_left_out() {
    let parsed = parse("# only a comment\n---\na: 1\n---\n---\nb: 2\n---\nc: [\n");
    let values: Vec<_> = parsed.documents.iter().map(Node::value).collect();
    assert_eq!(values, [json!({ "a": 1 }), json!({ "b": 2 })]);
    assert!(parsed.stopped.is_some());
    assert!(parse("").documents.is_empty());
}
