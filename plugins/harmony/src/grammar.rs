//! The grammar of a constrained turn: messages on `analysis`, then a call, or preambles and a final message.
//!
//! One call at most: `<|call|>` ends the turn. A marker ends a body wherever it stands, so markers have to be tokens.
//! The body of a custom tool's call that follows the tool's grammar has the content type `text`; other calls have JSON bodies.

use parser_sdk::Request;
use parser_sdk::grammar::{ArgumentsRule, Callable, Lark, Markers, Turn, literal};

use crate::header::RAW;
use crate::{CHANNEL, CONSTRAIN, END, MARKERS, MESSAGE, START};

/// Longest name of a tool, in bytes, since the parser bounds the length of headers.
const NAME: usize = 128;

/// Most messages of reasoning: each may be cut short, but a model that begins another one and another would never answer.
const ANALYSES: usize = 16;

/// Grammar that `constrain` returns; `None` where the request leaves the model free.
pub(crate) fn of(request: &Request) -> Result<Option<String>, String> {
    let Some(turn) = Turn::with_inputs(request)? else { return Ok(None) };
    let mut lark = Lark::new(&MARKERS.map(|name| format!("<|{name}|>")), Markers::Tokens)?;
    let [start, end, message, channel, constrain] =
        [START, END, MESSAGE, CHANNEL, CONSTRAIN].map(|index| lark.marker(index));
    turn.inputs().for_each(|input| lark.input(input));
    let call = turn.any_tool(|tool| call(&lark, tool))?;
    let next = format!("{end} {start} \"assistant\"");
    lark.reasoning_end(&end);
    lark.rule("analysis", &format!("{channel} \"analysis\" {message} text {next}"));
    lark.rule("preamble", &format!("{channel} \"commentary\" {message} text {next}"));
    let (answer, calls) =
        (turn.answer(&lark)?, if call.is_empty() { String::new() } else { format!(" | {call}") });
    let body = match answer {
        None if turn.is_demanded() => format!("({call})"),
        None => format!("preamble* ({channel} \"final\" {message} text{calls})"),
        Some(json) if request.response_schema.is_some() => {
            format!("({channel} \"final\" (\" \" {constrain} \"json\")? {message} gap? {json} gap?{calls})")
        }
        Some(text) => format!("({channel} \"final\" {message} {text}{calls})"),
    };
    Ok(Some(lark.start(&format!("({start} \"assistant\")? analysis{{0,{ANALYSES}}} {body}"))))
}

/// Grammar of a call of `tool`, with the recipient before or after the channel.
fn call(lark: &Lark, tool: &Callable<'_>) -> Result<String, String> {
    let name = tool.name_without(NAME, |char| !char.is_ascii_alphanumeric() && !"_-.".contains(char))?;
    let to = literal(&format!(" to=functions.{name}"));
    let (channel, constrain) = (lark.marker(CHANNEL), lark.marker(CONSTRAIN));
    let head = format!("({to} {channel} \"commentary\" | {channel} \"commentary\" {to})");
    let message = lark.marker(MESSAGE);
    Ok(match &tool.arguments {
        ArgumentsRule::Text(Some(input)) => {
            format!("{head} \" \" {constrain} {} {message} {}", literal(RAW), input.rule())
        }
        arguments => format!("{head} (\" \" {constrain} \"json\")? {message} {}", arguments.json()),
    })
}
