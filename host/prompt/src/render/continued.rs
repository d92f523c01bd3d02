//! The assistant's last message, which the model is to continue: its text ends with a mark, at
//! which the prompt is cut. `render` calls it.

use jinja::{Origin, Text, Value};

use super::RenderError;
use crate::conversation::{Conversation, Role};
use crate::variables::END_MARK;

/// Splits the last message off, which is to be continued.
pub(super) fn split_last(
    conversation: &Conversation,
    mut messages: Vec<Value>,
) -> Result<(Vec<Value>, Value), RenderError> {
    let last = conversation
        .messages
        .last()
        .filter(|last| last.role == Role::Assistant && last.tool_calls.is_empty());
    if let (Some(_), Some(last)) = (last, messages.pop()) {
        return Ok((messages, last));
    }
    let reason = "to continue the last message, it must be the assistant's and hold no calls";
    Err(RenderError::Conversation(reason.to_owned()))
}

/// Cuts the output at the last end mark, which the template got with a space behind it. If it
/// trimmed that space, it trims messages, and the text before the mark is trimmed, too.
pub(super) fn cut_at_mark(output: &Text) -> Result<Text, RenderError> {
    let marks = marks(output);
    let Some(&end) = marks.last() else {
        let reason = "the template drops the text that is to be continued";
        return Err(RenderError::Conversation(reason.to_owned()));
    };
    let string = output.as_str();
    let kept = string[end + END_MARK.len_utf8()..].starts_with(' ');
    let end = if kept { end } else { string[..end].trim_end().len() };
    // A template may write a message twice, and its mark with it.
    let mut parts = Vec::with_capacity(marks.len());
    let mut start = 0;
    for &mark in marks.iter().filter(|mark| **mark < end) {
        parts.push(output.slice(start..mark));
        let after = mark + END_MARK.len_utf8();
        start = if string[after..].starts_with(' ') { after + 1 } else { after };
    }
    parts.push(output.slice(start.min(end)..end));
    Ok(Text::concat(&parts))
}

/// Positions of the end marks. A request's own characters are none.
fn marks(output: &Text) -> Vec<usize> {
    let mut marks = Vec::new();
    let mut start = 0;
    for (origin, part) in output.runs() {
        if origin == Origin::Template {
            marks.extend(part.match_indices(END_MARK).map(|(at, _)| start + at));
        }
        start += part.len();
    }
    marks
}
