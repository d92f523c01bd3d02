//! Prompts that are longer than the context, in the words by which each protocol's clients know that
//! they have to shorten them, and by how much.
//!
//! Invariant: the tokens that are told are those that `/tokenize` and the routes that count give, or
//! what the prompt has at least. Agents match the words: `prompt is too long: N tokens > M maximum`
//! and `maximum context length is M tokens`, with N behind `resulted in` or `contains at least`.

use engine::SubmitError;

use super::error::ApiError;
use model::StartError;
use prompt::{PromptTooLong, RenderError};

/// A prompt that leaves no room in the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overflow {
    tokens: usize,
    /// Whether the prompt may have more tokens, since it wasn't counted to its end.
    or_more: bool,
    context: usize,
}

impl Overflow {
    /// A prompt of `tokens` tokens for a context of `context`.
    pub(crate) fn exactly(tokens: usize, context: usize) -> Self {
        Self { tokens, or_more: false, context }
    }

    /// The overflow that keeps a job from starting; `None` for other errors.
    pub(crate) fn of(error: &StartError) -> Option<Self> {
        match *error {
            StartError::Engine(SubmitError::PromptLength { tokens, context }) if tokens > 0 => {
                Some(Self::exactly(tokens, context))
            }
            StartError::Prompt(RenderError::TooLong(PromptTooLong { tokens, context, .. })) => {
                Some(Self { tokens, or_more: true, context })
            }
            _ => None,
        }
    }

    /// `OpenAI`'s refusal. `param` is the field of the prompt (`input`, `messages`).
    pub(crate) fn openai(self, param: &str) -> ApiError {
        let Self { tokens, or_more, context } = self;
        let what = if matches!(param, "input" | "messages") { param } else { "prompt" };
        let length = if or_more {
            format!("your {what} contains at least {tokens} input tokens")
        } else {
            format!("your {what} resulted in {tokens} tokens")
        };
        // An answer has one token at least.
        let room = if tokens <= context { ", which leaves no room for an answer" } else { "" };
        let message = format!(
            "This model's maximum context length is {context} tokens. However, {length}{room}. Please reduce the length of the {what}."
        );
        refusal(param, message)
    }

    /// Anthropic's refusal.
    pub(crate) fn anthropic(self) -> ApiError {
        let Self { tokens, or_more, context } = self;
        let at_least = if or_more { "at least " } else { "" };
        // A prompt as long as the context is one token too long, since an answer has one at least.
        let most = context.min(tokens.saturating_sub(1));
        refusal("messages", format!("prompt is too long: {at_least}{tokens} tokens > {most} maximum"))
    }
}

fn refusal(param: &str, message: String) -> ApiError {
    ApiError::invalid(param.to_owned(), message).with_code("context_length_exceeded")
}

#[cfg(test)]
mod tests {
    use super::{Overflow, PromptTooLong, RenderError, StartError, SubmitError};

    fn told(error: impl Into<StartError>) -> Option<[String; 2]> {
        let overflow = Overflow::of(&error.into())?;
        Some([overflow.openai("messages"), overflow.anthropic()].map(|error| {
            assert_eq!((error.status, error.code), (400, Some("context_length_exceeded")));
            error.message
        }))
    }

    #[test]
    fn prompt_over_the_context_is_told_as_agents_expect() {
        let start = "This model's maximum context length is 200 tokens. However, your messages";
        let end = "Please reduce the length of the messages.";
        let exact = |tokens| SubmitError::PromptLength { tokens, context: 200 };
        assert_eq!(
            told(exact(500)).unwrap(),
            [
                format!("{start} resulted in 500 tokens. {end}"),
                "prompt is too long: 500 tokens > 200 maximum".to_owned(),
            ]
        );
        assert_eq!(
            told(exact(200)).unwrap(),
            [
                format!("{start} resulted in 200 tokens, which leaves no room for an answer. {end}"),
                "prompt is too long: 200 tokens > 199 maximum".to_owned(),
            ]
        );
        let cut = PromptTooLong { tokens: 300, context: 200, bytes: 9000, read: 1000 };
        assert_eq!(
            told(RenderError::TooLong(cut)).unwrap(),
            [
                format!("{start} contains at least 300 input tokens. {end}"),
                "prompt is too long: at least 300 tokens > 200 maximum".to_owned(),
            ]
        );
        assert_eq!(told(SubmitError::Stopped), None);
        assert_eq!(told(exact(0)), None, "an empty prompt isn't too long");
    }
}
