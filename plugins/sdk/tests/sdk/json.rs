//! The JSON scanner and the string decoder: byte by byte they can be cut anywhere, so each test
//! feeds bytes.

use parser_kit::{check_scan, scanned_members};
use parser_sdk::json::{Event, Scanner};
use proptest::prelude::*;

/// The members of an object as the scanner finds them: key, raw value, decoded string if it is one.
fn members(json: &str) -> Vec<(String, String, Option<String>)> {
    let found = scanned_members(json).into_iter();
    found.map(|member| (member.key.unwrap_or_default(), member.value, member.string)).collect()
}

/// The scanner's events, each with the index of its byte, without [`Event::Nothing`].
fn events(json: &str) -> Vec<(usize, Event)> {
    let mut scanner = Scanner::default();
    let events = json.bytes().enumerate().map(|(at, byte)| (at, scanner.push(byte)));
    events.filter(|(_, event)| *event != Event::Nothing).collect()
}

fn plain(members: Vec<(String, String, Option<String>)>) -> Vec<(String, String)> {
    members.into_iter().map(|(key, value, _)| (key, value)).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
}

#[test]
fn values_begin_and_end_where_they_stand() {
    let json = r#" {"a": 1, "b" : [1, {"c": 2}],"d":"x" , "e":{ } ,"f":true}"#;
    let expected = [("a", "1"), ("b", r#"[1, {"c": 2}]"#), ("d", r#""x""#), ("e", "{ }"), ("f", "true")];
    assert_eq!(plain(members(json)), pairs(&expected));
}

#[test]
fn events_name_the_object_its_keys_and_its_end() {
    let expected = [
        (0, Event::Object),
        (3, Event::Key),
        (5, Event::ValueStart),
        (6, Event::ValueEnd),
        (10, Event::Key),
        (12, Event::ValueStart),
        (13, Event::End),
    ];
    assert_eq!(events(r#"{"k":[],"l":1} "x": {}"#), expected);
}

#[test]
fn what_is_no_object_is_said_at_its_first_byte() {
    assert_eq!(events(" \n[{\"a\": 1}]"), [(2, Event::NotAnObject)]);
    assert_eq!(events("é"), [(0, Event::NotAnObject)]);
}

#[test]
fn brackets_quotes_and_commas_in_strings_do_not_count() {
    let json = r#"{"a": "}]\"{,\\", "b": {"c\"}": "]"}}"#;
    assert_eq!(plain(members(json)), pairs(&[("a", r#""}]\"{,\\""#), ("b", r#"{"c\"}": "]"}"#)]));
}

#[test]
fn strings_at_depth_one_are_decoded() {
    let found = members(r#"{"\u006eame": "Z\u00fcrich \ud83d\ude00\n", "n": 5}"#);
    assert_eq!(found[0].0, "name");
    assert_eq!(found[0].2.as_deref(), Some("Zürich 😀\n"));
    assert_eq!(found[1].2, None);
}

#[test]
fn overlong_string_is_not_kept_but_read_to_its_end() {
    let long = "x".repeat(100_000);
    let found = members(&format!(r#"{{"a": "{long}", "b": "{}", "c": ""}}"#, "y".repeat(255)));
    assert_eq!(found[0].1.len(), long.len() + 2);
    assert_eq!(found[0].2, None);
    assert_eq!(found[1].2.as_deref(), Some("y".repeat(255).as_str()));
    assert_eq!(found[2].2.as_deref(), Some(""));
}

#[test]
fn commas_too_many_or_missing_do_not_hide_members() {
    assert_eq!(plain(members(r#"{,"a": 1,, "b": 2,}"#)), pairs(&[("a", "1"), ("b", "2")]));
    assert_eq!(
        plain(members(r#"{"a": "x" "b": {} "c": 1}"#)),
        pairs(&[("a", "\"x\""), ("b", "{}"), ("c", "1")])
    );
    assert_eq!(plain(members(r#"{"a": , "b" "x"}"#)), pairs(&[("b", "\"x\"")]));
}

#[test]
fn the_depth_is_known_at_every_byte() {
    let mut scanner = Scanner::default();
    let depths: Vec<usize> =
        "{\"a\":[{}]}".bytes().map(|byte| (scanner.push(byte), scanner.depth()).1).collect();
    assert_eq!(depths, [1, 1, 1, 1, 1, 2, 3, 2, 1, 0]);
}

#[test]
fn being_inside_a_string_is_known_at_every_cut() {
    let mut scanner = Scanner::default();
    let inside: String = "{\"a\\\"\": [\"b\"]}"
        .bytes()
        .map(|byte| (scanner.push(byte), if scanner.in_string() { '1' } else { '0' }).1)
        .collect();
    assert_eq!(inside, "01111000011000"[..inside.len()]);
}

/// JSON text of any value, white space and all.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "\"([a-zé{}\\[\\],: ]|\\\\\"|\\\\\\\\|\\\\u00e9){0,12}\"",
        "-?(0|[1-9][0-9]{0,4})(\\.[0-9]{1,3})?",
        Just("true".to_owned()),
        Just("null".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..4)
            .prop_map(|items| format!("[{}]", items.join(" , ")));
        let object = proptest::collection::vec(("[a-z\"]{0,3}", inner), 0..4).prop_map(|members| {
            let member =
                |(key, value): &(String, String)| format!("\"{}\":\n{value}", key.replace('"', "\\\""));
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
        });
        prop_oneof![list, object]
    })
}

proptest! {
    #[test]
    fn the_members_of_any_object_are_found(
        expected in proptest::collection::vec(("[a-z]{0,8}", value()), 0..6),
        space in "[ \n\t]{0,2}",
    ) {
        let member = |(key, value): &(String, String)| format!("{space}\"{key}\"{space}:{space}{value}{space}");
        let json = format!("{{{}}}", expected.iter().map(member).collect::<Vec<_>>().join(","));
        prop_assert_eq!(plain(members(&json)), expected);
        prop_assert_eq!(events(&json).pop(), Some((json.len() - 1, Event::End)));
    }

    #[test]
    fn any_bytes_are_scanned_alike_however_they_are_cut(bytes in bytes(), sizes in sizes()) {
        check_scan(&bytes, &sizes);
    }

    #[test]
    fn object_members_are_those_that_serde_finds(
        members in proptest::collection::vec(("([a-z\u{e9}]|\\\\n|\\\\u00e9){0,4}", value()), 0..6), sizes in sizes(),
    ) {
        let member = |(key, value): &(String, String)| format!("\"{key}\": {value}");
        let json = format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","));
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
        check_scan(json.as_bytes(), &sizes);
    }
}

/// Bytes of any kind, and those that mean something in JSON.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let pieces = proptest::sample::select(
        &[
            "{", "}", "[", "]", "\"", "\"a\":", ",", "\\", "\\\"", "\\ud83d", "\\u00e9", " ", "1", "true",
            "\u{e9}",
        ][..],
    );
    let piece = prop_oneof![
        6 => pieces.prop_map(|text| text.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 1..3),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Sizes to cut by, used in turn.
fn sizes() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(1..9_usize, 1..5)
}
