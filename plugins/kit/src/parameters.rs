//! Checks of formats that write parameters one by one as text, each typed by the tool's schema
//! ([`parser_sdk::params`]): strings go out as they come, and long values and many parameters pass.
//! A parser's test says how its format spells them.

use serde_json::Value;

use super::case::ANY_OBJECT;
use super::{
    Streams, check_string_parameters, check_turns_between, custom_tool, cut, function, is_held, play, steps,
    with_tools,
};
use contract::{FinishReason, Op, Request, Route, Step};
use parser_sdk::Parser;

/// Parameters of each kind: an integer, an array or nothing, a string, a string or number.
const SCHEMA: &str = r#"{"properties": {"i": {"type": "integer"}, "a": {"type": ["array", "null"]}, "s": {"type": "string"}, "t": {"anyOf": [{"type": "string"}, {"type": "number"}]}}}"#;
/// The same, in which `a` has each type of the values of [`check_turns_between`].
const TURNS: &str = r#"{"properties": {"i": {"type": "integer"}, "a": {"type": ["array", "string", "integer"]}, "s": {"type": "string"}, "t": {"anyOf": [{"type": "string"}, {"type": "number"}]}}}"#;
/// Repetitions in a string, and parameters of a call, each more than any model writes.
const REPEATED: usize = 25_000;
const PARAMETERS: usize = 5_000;

/// Fragments that are hard to parse where values are text: what may be a number, a word, JSON or
/// neither, and halves of markers.
pub const VALUES: &[&str] = &[
    "add",
    "\"add\"",
    "i",
    ">",
    "5",
    "5.0",
    "[1, 2]",
    "[",
    "null",
    "true",
    "word",
    "Zürich",
    "😀",
    "\"",
    "'",
    "\\",
    "{",
    "{\"k\": 1}",
    "<",
    "</",
    "\n\n\n",
    "\n",
    " ",
    "prose, long enough to be no number or word at all, ",
];

/// How a format spells its turns, whose calls have parameters one by one as text.
#[derive(Debug, Clone, Copy)]
pub struct ParameterFormat<'a> {
    /// Generation prompts that may open a turn.
    pub prompts: &'a [&'a str],
    /// Fragments that the model may write beside [`VALUES`] ([`Streams::fragments`]).
    pub fragments: &'a [&'a str],
    /// Literals that end the turn.
    pub ends: &'a [&'a str],
    /// What stands around reasoning.
    pub reasoning: [&'a str; 2],
    /// Spells a parameter, given its name, its value, and whether that is a string.
    pub parameter: fn(&str, &str, bool) -> String,
    /// Spells a call of the tool of this name, given its parameters.
    pub call: fn(&str, &str) -> String,
    /// Markers and texts of a call of `get_weather` up to and with the first characters of the
    /// string `city` (`Os`).
    pub string: &'a [&'a str],
}

impl<'a> ParameterFormat<'a> {
    /// All fragments that the model may write.
    pub fn fragments(&self) -> Vec<&'a str> {
        [self.fragments, VALUES].concat()
    }

    /// Checks that any cut of any stream gives the same items ([`Streams::check`]), and arguments
    /// are written as sound JSON ([`Streams::check_written_arguments`]); that turns
    /// ([`super::check_turns`]), strings ([`check_string_parameters`]), long ones and very many
    /// parameters come back as they were; and that the parser is asked about a string once.
    ///
    /// # Panics
    /// One of them isn't so; the place in this file says which.
    pub fn check<P: Parser>(&self) {
        let requests = [typed_request(), with_schema(TURNS)];
        let fragments = self.fragments();
        let streams = Streams::of(&requests, self.prompts, &fragments, self.ends);
        streams.check::<P>();
        streams.check_written_arguments::<P>();
        let [typed, turns] = &requests;
        check_turns_between::<P>(self.reasoning, turns, |_, arguments| {
            let (value, is_string) = parameter_of_turn(arguments);
            (self.call)("add", &(self.parameter)("a", &value, is_string))
        });
        let string = |key: &str, value: &str| (self.parameter)(key, value, true);
        let call = |parameters: &str| (self.call)("get_weather", parameters);
        check_string_parameters::<P>(typed, string, call);
        check_string_flows::<P>(typed, self.string);
        check_long_string::<P>(typed, |value| (self.call)("add", &string("s", value)));
        check_many_parameters::<P>(typed, |key| string(key, "x"), call);
    }
}

/// A request with `add`, whose parameters are of each kind (`i`, `a`, `s`, `t`), `get_weather`,
/// which declares none, and the custom tool `patch`.
pub fn typed_request() -> Request {
    with_schema(SCHEMA)
}

fn with_schema(schema: &str) -> Request {
    with_tools([function("add", schema), function("get_weather", ANY_OBJECT), custom_tool("patch")])
}

/// The parameter `a` of a turn's arguments, as text, and whether it is a string.
fn parameter_of_turn(arguments: &str) -> (String, bool) {
    let arguments: Value = serde_json::from_str(arguments).expect("arguments are JSON");
    match &arguments["a"] {
        Value::String(text) => (text.clone(), true),
        other => (other.to_string().replace(',', ", "), false),
    }
}

/// Checks that a string goes out up to the next marker from the last part of `head` on, without
/// further ops.
fn check_string_flows<P: Parser>(request: &Request, head: &[&str]) {
    let mut steps = steps::<P>(request, &[head, &["lo"]].concat());
    assert!(steps[..2].iter().all(is_held), "{steps:?}");
    assert_eq!(steps.pop(), Some(Step::Pass));
    let Some(Step::Ops(ops)) = steps.pop() else { panic!("the value begins") };
    assert_eq!(ops.last(), Some(&Op::UntilMarker(Route::Value)), "{ops:?}");
}

/// Checks that a string of a third of a megabyte, the parameter `s` of the call that `output`
/// spells, comes back whole.
fn check_long_string<P: Parser>(request: &Request, output: impl Fn(&str) -> String) {
    let value = "<a href=\"x\">\n".repeat(REPEATED);
    assert_eq!(arguments::<P>(request, &output(&value))["s"], value);
}

/// Checks that 5,000 parameters, each of a key that JSON escapes, stay within what a parser may
/// derive. `parameter` spells one, and `call` a call.
fn check_many_parameters<P: Parser>(
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
