//! Round trips: what a model writes in its format comes back unchanged: turns of reasoning, text
//! and calls, parameters of any text, long arguments. A parser's test says how its format spells
//! them.

use serde_json::Value;

use super::explore::{Explorer, Random, without_one};
use super::{Item, cut, play};
use contract::{FinishReason, InString, JsonRest, Op, Request, Route, Run, Step, Until};
use parser_sdk::{Parser, Stream};

/// Number of inputs drawn.
const COUNT: u64 = 1_000;
/// Characters of prose, of the strings in arguments, and of parameters that look like markup.
const PROSE: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZü ,.";
const STRING: &str = "abcdefghijklmnopqrstuvwxyz<>/ü` ";
const MARKUP: &str = "abcdefghijklmnopqrstuvwxyz<>/=[]{}\"\\ü😀 \n\t";
/// Largest size of a piece in characters, and most sizes of one turn.
const LARGEST: usize = 11;
const SIZES: usize = 4;

/// A turn: reasoning, text, calls (arguments, and the text behind the call), and sizes that it is
/// cut in.
#[derive(Debug, Clone)]
struct Turn {
    reasoning: String,
    text: String,
    calls: Vec<(String, String)>,
    sizes: Vec<usize>,
}

impl Turn {
    fn draw(random: &mut Random) -> Self {
        let calls = random.below(4);
        Self {
            reasoning: random.text(PROSE, 40),
            text: random.text(PROSE, 30),
            calls: (0..calls).map(|_| (arguments(random), random.text(PROSE, 30))).collect(),
            sizes: random.sizes(SIZES, LARGEST),
        }
    }

    fn shorter(&self) -> Vec<Self> {
        let empty =
            [Self { reasoning: String::new(), ..self.clone() }, Self { text: String::new(), ..self.clone() }];
        let changes =
            empty.into_iter().filter(|less| less.reasoning != self.reasoning || less.text != self.text);
        without_one(&self.calls).map(|calls| Self { calls, ..self.clone() }).chain(changes).collect()
    }

    fn items(&self) -> Vec<Item> {
        let calls = self.calls.iter().flat_map(|(arguments, text)| {
            [Item::call("add", arguments.as_str()), Item::message(text.trim())]
        });
        let prose = [Item::reasoning(self.reasoning.trim()), Item::message(self.text.trim())];
        prose.into_iter().chain(calls).filter(|item| !item.text.is_empty()).collect()
    }
}

/// Arguments of one member.
fn arguments(random: &mut Random) -> String {
    let value = match random.below(3) {
        0 => format!("\"{}\"", random.text(STRING, 20)),
        1 => random.below(10_000).to_string(),
        _ => "[1, {}]".to_owned(),
    };
    format!("{{\"a\": {value}}}")
}

/// Turns with reasoning in `<think>`, calls of the function `add` and text come back as they were,
/// however they are cut. `call` spells the call of this number with these arguments.
///
/// # Panics
/// A turn comes back otherwise; the shortest is shown.
pub fn check_turns<P: Parser>(request: &Request, call: impl Fn(usize, &str) -> String) {
    check_turns_between::<P>(["<think>", "</think>"], request, call);
}

/// [`check_turns`] for a format with these markers around reasoning.
///
/// # Panics
/// Those of [`check_turns`].
pub fn check_turns_between<P: Parser>(
    [think, think_end]: [&str; 2],
    request: &Request,
    call: impl Fn(usize, &str) -> String,
) {
    Explorer::new(COUNT).each(Turn::draw, Turn::shorter, |turn| {
        let calls = turn.calls.iter().enumerate();
        let calls: String = calls.map(|(index, (json, text))| call(index, json) + text).collect();
        let output = format!("{think}\n{}\n{think_end}\n\n{}{calls}", turn.reasoning, turn.text);
        let items = play::<P>(request, "", cut(&output, &turn.sizes), FinishReason::Stop);
        assert_eq!(items, turn.items());
    });
}

/// Parameters that are strings come back to the byte, whatever markup they look like, however they
/// are cut. `parameter` spells one, given its name and value, and `call` a call with these
/// parameters.
///
/// # Panics
/// A parameter comes back otherwise; the shortest parameters that fail are shown.
pub fn check_string_parameters<P: Parser>(
    request: &Request,
    parameter: impl Fn(&str, &str) -> String,
    call: impl Fn(&str) -> String,
) {
    let draw = |random: &mut Random| {
        let values: Vec<String> = (0..=random.below(5)).map(|_| random.text(MARKUP, 30)).collect();
        (values, random.sizes(SIZES, LARGEST))
    };
    let shorter = |(values, sizes): &(Vec<String>, Vec<usize>)| {
        without_one(values)
            .filter(|values| !values.is_empty())
            .map(|values| (values, sizes.clone()))
            .collect()
    };
    Explorer::new(COUNT).each(draw, shorter, |(values, sizes)| {
        let parameters =
            (0..).zip(values).map(|(index, value): (usize, _)| parameter(&format!("p{index}"), value));
        let output = call(&parameters.collect::<String>());
        let items = play::<P>(request, "", cut(&output, sizes), FinishReason::Stop);
        let arguments: Value = serde_json::from_str(&items[0].text).expect("arguments are JSON");
        let got: Vec<&str> =
            arguments.as_object().expect("an object").values().filter_map(Value::as_str).collect();
        assert_eq!(&got, values);
    });
}

/// A call of the function `add` with a quarter of a megabyte of arguments comes back whole, cut
/// small and large. `output` is what the model writes for these arguments; any text that it has
/// around the call gives no item.
///
/// # Panics
/// Another call comes back.
pub fn check_long_arguments<P: Parser>(request: &Request, prompt: &str, output: impl Fn(&str) -> String) {
    let arguments = format!("{{\"a\": \"{}\"}}", "0123456789🦀`</t> \\n".repeat(12 << 10));
    let output = output(&arguments);
    for size in [4, 4096, usize::MAX] {
        let items = play::<P>(request, prompt, cut(&output, &[size]), FinishReason::Stop);
        assert!(items == [Item::call("add", arguments.as_str())], "cut in pieces of {size} characters");
    }
}

/// Checks that the string `input` of a custom tool goes out with every piece, and that the host is
/// told which bytes may end it. Behind `head` (markers and texts) the stream is inside that string.
///
/// # Panics
/// A piece is answered by another step.
pub fn check_input_flows<P: Parser>(request: &Request, head: &[&str]) {
    let pieces = [head, &["y\\n{ "; 1_000]].concat();
    for step in steps::<P>(request, &pieces).split_off(head.len()) {
        let until = Until { route: Route::ArgumentsUnescaped, bytes: "\"\\".into() };
        assert_eq!(
            step,
            Step::Ops(vec![Op::Bytes(Run { route: until.route, bytes: 5 }), Op::UntilByte(until)])
        );
    }
}

/// Checks that a parser of marked sections is asked once about prose and about reasoning, which go
/// out up to the next marker, and about the arguments behind a call's `head` (marker, name,
/// marker), which the host follows from the first piece up to their last bracket. The head is held.
///
/// # Panics
/// The parser is asked more often, or the head isn't held.
pub fn check_asked_once<P: Parser>(request: &Request, head: [&str; 3]) {
    let prose = ["Hi", " there", "<think>"];
    let steps = steps::<P>(request, &[&prose[..], &head, &[" {\"a\": \"x"]].concat());
    let last = |step: &Step| if let Step::Ops(ops) = step { ops.last().cloned() } else { None };
    assert_eq!(last(&steps[0]), Some(Op::UntilMarker(Route::Content)));
    assert_eq!(steps[1], Step::Pass);
    assert_eq!(last(&steps[2]), Some(Op::UntilMarker(Route::Reasoning)));
    assert!(steps[3..5].iter().all(is_held), "{steps:?}");
    let rest = JsonRest { route: Route::Arguments, depth: 1, in_string: InString::Yes };
    assert_eq!(last(&steps[6]), Some(Op::UntilJson(rest)));
}

/// Whether a step leaves held what is held, and does nothing else.
pub fn is_held(step: &Step) -> bool {
    match step {
        Step::Hold | Step::HoldUntil(_) => true,
        Step::Ops(ops) => ops.iter().all(|op| matches!(op, Op::HoldUntil(_))),
        Step::Pass | Step::Fault(_) => false,
    }
}

/// The steps that a parser answers a stream with, given marker by marker (their literals) and text
/// by text.
pub fn steps<P: Parser>(request: &Request, parts: &[&str]) -> Vec<Step> {
    let markers = P::describe(&request.options).expect("describe").markers;
    let mut stream = Stream::<P>::start(request).expect("start");
    let step = |part: &&str| match (0..).zip(&markers).find(|(_, marker)| marker == part) {
        Some((index, _)) => stream.marker(index),
        None => stream.text(part),
    };
    parts.iter().map(step).collect()
}
