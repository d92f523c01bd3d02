//! Parameters: values that the host types and writes, by their places.

use super::*;
use crate::values::tool;
use contract::{Note, ParameterValue, Reading, Segment, ToolCall, ToolKind};

const SCHEMA: &str = r#"{"properties": {"city": {"type": "string"}, "days": {"type": ["integer", "null"]}, "any": {"type": ["object", "string"]}, "ids": {"type": "array", "items": {"type": "integer"}},
    "stops": {"type": "array", "items": {"properties": {"name": {"type": "string"}, "at": {"type": "integer"}}}}}}"#;

/// A piece of a call's ops: the way to a value (`stops/0/name`, with `t:` or `j:` before it for its
/// reading, and `item:0` for an element) and its text in pieces.
type Said = (&'static str, &'static [&'static str]);

fn parameter(place: &str) -> Op {
    let (reading, place) = match place.split_once(':') {
        Some(("t", place)) => (Reading::Text, place),
        Some(("j", place)) => (Reading::Json, place),
        _ => (Reading::Declared, place),
    };
    let segment = |step: &str| match (step.split_once(':'), step.parse()) {
        (Some((name, index)), _) => Segment::Element { name: name.into(), index: index.parse().unwrap() },
        (None, Ok(item)) => Segment::Item(item),
        (None, Err(_)) => Segment::Key(step.into()),
    };
    Op::Parameter(ParameterValue { path: place.split('/').map(segment).collect(), reading })
}

fn with_tool() -> Setup {
    let tools = Arc::new([tool("weather", ToolKind::Function, SCHEMA), tool("run", ToolKind::Custom, "")]);
    TurnSettings { tools, ..settings() }.into()
}

/// Ends of a call's last value: what follows it.
fn played(name: &str, payload: Payload, said: &[Said], end: &[Op]) -> (Vec<FoldedItem>, Option<Fault>) {
    let call = Op::ToolCall(ToolCall::new(name, payload));
    let mut steps = vec![Step::Ops(vec![bytes(Route::Drop, 1), call])];
    let mut pieces = vec!["!"];
    for (place, texts) in said {
        steps.push(Step::Ops(vec![bytes(Route::Drop, 1), parameter(place)]));
        pieces.push("|");
        for text in *texts {
            steps.push(Step::Ops(vec![bytes(Route::Value, text.len().try_into().unwrap())]));
            pieces.push(text);
        }
    }
    steps.push(Step::Ops([vec![bytes(Route::Drop, 1)], end.to_vec()].concat()));
    pieces.push(".");
    let (items, _, turn) = run(scripted(with_tool(), steps), &pieces, FinishReason::Stop);
    (items, turn.fault().cloned())
}

/// The arguments of a call that says this and closes.
fn arguments(said: &[Said]) -> String {
    let (mut items, fault) = played("weather", Payload::Json, said, &[Op::Close]);
    assert_eq!(fault, None);
    assert_eq!(items[0].status, ItemStatus::Completed);
    items.remove(0).text
}

fn fault(said: &[Said], end: &[Op]) -> String {
    played("weather", Payload::Json, said, end).1.expect("a fault").reason.into()
}

#[test]
fn values_have_the_schemas_types_and_the_hosts_markup() {
    let said: [Said; 4] = [
        ("city", &["O", "s\"lo\u{8}"]),
        ("days", &[" ", "1", "2 "]),
        ("other", &["5"]),
        ("any", &["{\"a\"", ": 1}"]),
    ];
    assert_eq!(arguments(&said), r#"{"city": "Os\"lo\b", "days": 12, "other": "5", "any": {"a": 1}}"#);
    assert_eq!(arguments(&[("days", &["None"])]), r#"{"days": null}"#);
    assert_eq!(arguments(&[("days", &["a few"])]), r#"{"days": "a few"}"#);
    assert_eq!(arguments(&[("any", &["{a}"])]), r#"{"any": "{a}"}"#);
    assert_eq!(arguments(&[("city", &[]), ("other", &["  "])]), r#"{"city": "", "other": "  "}"#);
}

#[test]
fn a_reading_stands_above_the_schema() {
    assert_eq!(arguments(&[("t:days", &["12"])]), r#"{"days": "12"}"#);
    assert_eq!(arguments(&[("j:city", &["12"])]), r#"{"city": 12}"#);
    assert_eq!(arguments(&[("j:city", &[" \"a", "\" "])]), r#"{"city": "a"}"#);
    assert_eq!(arguments(&[("j:city", &["\"a\" b"])]), r#"{"city": "\"a\" b"}"#);
    assert_eq!(arguments(&[("j:other", &["[1,", " \"] ", "\"", "]\n"])]), r#"{"other": [1, "] "]}"#);
    assert_eq!(arguments(&[("j:other", &["[1,", " 2"])]), r#"{"other": "[1, 2"}"#);
}

#[test]
fn objects_and_lists_open_and_close_between_places() {
    let said: [Said; 6] = [
        ("city", &["Oslo"]),
        ("stops", &["\n"]),
        ("stops/0/name", &["a"]),
        ("stops/0/at", &["1"]),
        ("stops/1/name", &["b"]),
        ("days", &["3"]),
    ];
    assert_eq!(
        arguments(&said),
        r#"{"city": "Oslo", "stops": [{"name": "a", "at": 1}, {"name": "b"}], "days": 3}"#
    );
    assert_eq!(arguments(&[("a/b/c/0/0", &["x"])]), r#"{"a": {"b": {"c": [["x"]]}}}"#);
    assert_eq!(arguments(&[("a/b", &["x"]), ("a/c", &["y"])]), r#"{"a": {"b": "x", "c": "y"}}"#);
}

#[test]
fn what_was_written_is_not_written_again_and_breaks_the_call() {
    let broken = |said: &[Said]| played("weather", Payload::Json, said, &[Op::Close]).0.remove(0);
    let written = |text: &str| incomplete(tool_call(1, "weather", text));
    assert_eq!(broken(&[("city", &["a"]), ("city", &["b"])]), written(r#"{"city": "a""#));
    assert_eq!(
        broken(&[("a/b", &["x"]), ("c", &["y"]), ("a/d", &["z"])]),
        written(r#"{"a": {"b": "x"}, "c": "y""#)
    );
    assert_eq!(broken(&[("a", &["x"]), ("a/b", &["y"])]), written(r#"{"a": "x""#));
    assert_eq!(broken(&[("a/b", &["x"]), ("a", &["y"])]), written(r#"{"a": {"b": "x""#));
}

#[test]
fn values_of_one_place_are_items_where_the_schema_has_a_list() {
    assert_eq!(arguments(&[("ids", &["1"]), ("ids", &["2"])]), r#"{"ids": [1, 2]}"#);
    assert_eq!(
        arguments(&[
            ("city", &["a"]),
            ("ids", &[" 1 "]),
            ("ids", &["x"]),
            ("ids", &["[3]"]),
            ("days", &["4"])
        ]),
        r#"{"city": "a", "ids": [1, "x", "[3]"], "days": 4}"#
    );
    assert_eq!(arguments(&[("ids", &["1"])]), r#"{"ids": "1"}"#);
    assert_eq!(arguments(&[("ids", &["1"]), ("days", &["2"])]), r#"{"ids": "1", "days": 2}"#);
    assert_eq!(arguments(&[("ids", &["[1, 2]"])]), r#"{"ids": [1, 2]}"#);
    let long: Said = ("ids", &["a word and many more words, which are no list and don't wait for any other"]);
    assert_eq!(arguments(&[long]), format!(r#"{{"ids": "{}"}}"#, long.1[0]));
}

#[test]
fn an_item_that_comes_too_late_breaks_the_call() {
    let broken = |said: &[Said]| played("weather", Payload::Json, said, &[Op::Close]).0.remove(0);
    let late = [("ids", &["1"][..]), ("ids", &["2"]), ("days", &["4"]), ("ids", &["3"])];
    assert_eq!(broken(&late), incomplete(tool_call(1, "weather", r#"{"ids": [1, 2], "days": 4"#)));
    let two = [("ids", &["[1]"][..]), ("ids", &["2"])];
    assert_eq!(broken(&two), incomplete(tool_call(1, "weather", r#"{"ids": [1]"#)));
}

#[test]
fn a_value_that_is_cut_off_is_not_written() {
    let cut = |said: &[Said]| played("weather", Payload::Json, said, &[]).0.remove(0);
    let written = |text: &str| incomplete(tool_call(1, "weather", text));
    assert_eq!(cut(&[("days", &["1"])]), written(r#"{"days": "#));
    assert_eq!(cut(&[("city", &["Os"])]), written(r#"{"city": "Os"#));
    assert_eq!(cut(&[("days", &["12", " of", " them"])]), written(r#"{"days": "#));
    let long = [("days", &["12", " of them of them of them of them of them of them of them of them"][..])];
    assert_eq!(
        cut(&long),
        written(r#"{"days": "12 of them of them of them of them of them of them of them of them"#)
    );
    let ended = played("weather", Payload::Json, &[("days", &["1"])], &[Op::ParameterEnd]).0.remove(0);
    assert_eq!(ended, written(r#"{"days": 1"#));
}

#[test]
fn a_call_of_plain_text_has_its_input() {
    let said: [Said; 3] = [("other", &["x"]), ("input", &[" \"a\"\n"]), ("input", &["b"])];
    let (items, fault) = played("run", Payload::Text, &said, &[Op::Close]);
    assert_eq!((items[0].text.as_str(), fault), (" \"a\"\n", None));
}

#[test]
fn tokens_of_values_count_as_arguments() {
    let opened = vec![bytes(Route::Drop, 1), call("weather"), parameter("city")];
    let steps =
        [Step::Ops(opened), Step::Ops(vec![bytes(Route::Value, 2)]), Step::Ops(vec![bytes(Route::Drop, 1)])];
    let mut turn = scripted(with_tool(), steps);
    let mut out = TurnEvents::default();
    for piece in ["!", "ab", "."] {
        assert_eq!(turn.step(&[token(piece)], &mut out), Flow::Continue);
    }
    turn.finish(FinishReason::Stop, None, &mut out);
    assert_eq!(turn.tokens(), TokenCounts { arguments: 1, dropped: 2, ..TokenCounts::default() });
}

#[test]
fn places_that_cannot_be_are_faults() {
    let place = "its parameter's path";
    let faults: [&[Said]; 2] = [&[("a/1", &["x"])], &[("a/0", &["x"]), ("a/2", &["y"])]];
    for said in faults {
        assert!(fault(said, &[]).contains(place), "{said:?}");
    }
    let deep = |depth: usize| vec![Segment::Key("a".into()); depth];
    for (path, goes) in [(deep(0), false), (deep(64), true), (deep(65), false)] {
        let op = Op::Parameter(ParameterValue { path, reading: Reading::Text });
        assert_eq!(played("weather", Payload::Json, &[], &[op, Op::Close]).1.is_none(), goes);
    }
}

#[test]
fn value_in_a_container_of_the_other_kind_breaks_call() {
    let broken = |said: &[Said]| played("weather", Payload::Json, said, &[Op::Close]);
    let item = |text: &str| vec![incomplete(tool_call(1, "weather", text))];
    let said: [Said; 3] = [("a/b", &["x"]), ("a/0", &["y"]), ("c", &["z"])];
    assert_eq!(broken(&said), (item(r#"{"a": {"b": "x"}, "c": "z""#), None));
    assert_eq!(broken(&[("a/0", &["x"]), ("a/b", &["y"])]), (item(r#"{"a": ["x""#), None));
    assert_eq!(broken(&[("0", &["x"])]).0, item(""));
}

#[test]
fn element_follows_what_is_around_it_or_the_schema() {
    let said: [Said; 4] = [
        ("stops/item:0/name", &["a"]),
        ("stops/item:1/at", &["2"]),
        ("any/item:0", &["b"]),
        ("any/c", &["d"]),
    ];
    assert_eq!(arguments(&said), r#"{"stops": [{"name": "a"}, {"at": 2}], "any": {"item": "b", "c": "d"}}"#);
    assert_eq!(arguments(&[("new/item:0", &["b"]), ("new/item:1", &["c"])]), r#"{"new": ["b", "c"]}"#);
    assert_eq!(
        arguments(&[("new/a", &["b"]), ("new/item:7", &["c"])]),
        r#"{"new": {"a": "b", "item": "c"}}"#
    );
    assert_eq!(arguments(&[("item:5", &["b"])]), r#"{"item": "b"}"#);
}

#[test]
fn no_text_is_what_the_schema_has_for_it() {
    assert_eq!(
        arguments(&[("stops", &[]), ("days", &[]), ("any", &[])]),
        r#"{"stops": [], "days": null, "any": ""}"#
    );
}

#[test]
fn what_does_not_go_together_is_a_fault() {
    let mixed = "by parameters and beside them";
    assert!(fault(&[("city", &["a"])], &[Op::DerivedArguments("{".into())]).contains(mixed));
    assert!(fault(&[], &[Op::DerivedArguments("{".into()), parameter("city")]).contains(mixed));
    let (_, orphan) = played("weather", Payload::Json, &[], &[Op::UntilMarker(Route::Value)]);
    assert!(orphan.unwrap().reason.contains("no parameter was open"));
    let keys =
        Op::Parameter(ParameterValue { path: vec![Segment::Key("k".repeat(300))], reading: Reading::Text });
    assert!(fault(&[], &[keys]).contains("derived arguments"));
}

#[test]
fn notes_are_passed_over_within_bounds() {
    let note = |name: &str, bytes: usize| Op::Note(Note { name: name.into(), data: "x".repeat(bytes) });
    let of = |ops: Vec<Op>| {
        let steps = [Step::Ops([vec![bytes(Route::Content, 1)], ops].concat())];
        run(scripted(settings(), steps), &["a"], FinishReason::Stop)
    };
    let (items, end, turn) = of(vec![note("citation-2", 4096); 1024]);
    assert_eq!((items, end), (vec![message("a")], TurnEnd::Completed));
    assert!(turn.fault().is_none());
    let hostile = [
        vec![note("", 0)],
        vec![note("A", 0)],
        vec![note("a\n", 0)],
        vec![note("a", 4097)],
        vec![note("a", 0); 1025],
    ];
    for notes in hostile {
        assert!(of(notes).2.fault().unwrap().reason.contains("its note"));
    }
    assert!(of(vec![note(&"a".repeat(65), 1)]).2.fault().is_some());
}
