//! The assistant's last message, which the model is to continue: its text ends with a mark, at which the prompt is cut. `render` calls it.

use minijinja::Value;

use super::RenderError;
use crate::prompt::conversation::{Conversation, Role};
use crate::prompt::segments::END_MARK;

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

/// Cuts the output at the end mark, which the template got with a space behind it. If it trimmed that space, it trims messages, and the
/// text before the mark is trimmed, too.
pub(super) fn cut_at_mark(mut output: String) -> Result<String, RenderError> {
    let Some(end) = output.rfind(END_MARK) else {
        let reason = "the template drops the text that is to be continued";
        return Err(RenderError::Conversation(reason.to_owned()));
    };
    let kept = output[end + END_MARK.len_utf8()..].starts_with(' ');
    output.truncate(if kept { end } else { output[..end].trim_end().len() });
    // A template may write a message twice, and its mark with it.
    Ok(output.replace(&format!("{END_MARK} "), "").replace(END_MARK, ""))
}
