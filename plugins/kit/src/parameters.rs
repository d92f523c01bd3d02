//! Checks of formats that write parameters one by one as text, each typed by the tool's schema ([`parser_sdk::params`]): strings go out as they
//! come, and long values and many parameters pass. A parser's test says how its format spells them.

use serde_json::Value;

use super::case::ANY_OBJECT;
use super::{custom_tool, cut, function, play, steps, with_tools};
use contract::{FinishReason, Op, Request, Route, Step};
use parser_sdk::Parser;

/// Parameters of each kind: an integer, an array or nothing, a string, a string or number.
const SCHEMA: &str = r#"{"properties": {"i": {"type": "integer"}, "a": {"type": ["array", "null"]}, "s": {"type": "string"}, "t": {"anyOf": [{"type": "string"}, {"type": "number"}]}}}"#;
/// The same, with an array, a string or an integer.
const TURNS: &str = r#"{"properties": {"i": {"type": "integer"}, "a": {"type": ["array", "string", "integer"]}, "s": {"type": "string"}, "t": {"anyOf": [{"type": "string"}, {"type": "number"}]}}}"#;
/// Repetitions in a string, and parameters of a call, each more than any model writes.
const REPEATED: usize = 25_000;
const PARAMETERS: usize = 5_000;

/// A request with `add`, whose parameters are of each kind (`i`, `a`, `s`, `t`), `get_weather`, which declares none, and the custom tool
/// `patch`.
pub fn typed_request() -> Request {
    with_schema(SCHEMA)
}

/// [`typed_request`], in which the parameter `a` may have each type of the values that [`check_turns`](super::check_turns) writes.
pub fn turns_request() -> Request {
    with_schema(TURNS)
}

fn with_schema(schema: &str) -> Request {
    with_tools([function("add", schema), function("get_weather", ANY_OBJECT), custom_tool("patch")])
}

/// The parameter `a` of arguments that [`check_turns`](super::check_turns) writes, as the text of an element, and whether it is a string.
///
/// # Panics
/// The arguments are no JSON.
pub fn parameter_of_turn(arguments: &str) -> (String, bool) {
    let arguments: Value = serde_json::from_str(arguments).expect("arguments are JSON");
    match &arguments["a"] {
        Value::String(text) => (text.clone(), true),
        other => (other.to_string().replace(',', ", "), false),
    }
}

/// Checks that a string goes out up to the next marker from the last part of `head` on (markers and texts), without further ops.
///
/// # Panics
/// The string is held, or needs further ops.
pub fn check_string_flows<P: Parser>(request: &Request, head: &[&str]) {
    let mut steps = steps::<P>(request, &[head, &["lo"]].concat());
    assert_eq!(steps[..2], [Step::Hold, Step::Hold]);
    assert_eq!(steps.pop(), Some(Step::Pass));
    let Some(Step::Ops(ops)) = steps.pop() else { panic!("the value begins") };
    assert_eq!(ops.last(), Some(&Op::UntilMarker(Route::Value)), "{ops:?}");
}

/// Checks that a string of a third of a megabyte, the parameter `s` of the call that `output` spells, comes back whole.
///
/// # Panics
/// Another string comes back.
pub fn check_long_string<P: Parser>(request: &Request, output: impl Fn(&str) -> String) {
    let value = "<a href=\"x\">\n".repeat(REPEATED);
    assert_eq!(arguments::<P>(request, &output(&value))["s"], value);
}

/// Checks that 5,000 parameters, each of a key that JSON escapes, stay within what a parser may derive. `parameter` spells one, and `call`
/// a call.
///
/// # Panics
/// They exceed it, or one is missing.
pub fn check_many_parameters<P: Parser>(
    request: &Request,
    parameter: impl Fn(&str) -> String,
    call: impl Fn(&str) -> String,
) {
    let parameters = (0..PARAMETERS).map(|index| parameter(&format!("\u{1}{index}")));
    let arguments = arguments::<P>(request, &call(&parameters.collect::<String>()));
    assert_eq!(arguments.as_object().expect("an object").len(), PARAMETERS);
}

/// The arguments of the first call of a stream.
fn arguments<P: Parser>(request: &Request, output: &str) -> Value {
    let items = play::<P>(request, "", cut(output, &[4]), FinishReason::Stop);
    serde_json::from_str(&items[0].text).expect("arguments are JSON")
}
