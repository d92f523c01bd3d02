//! The protocols as one enum: it reads bodies, makes refusals and checks streams. The transport and
//! the command line know protocols only by it.

use std::time::Duration;

use engine::SubmitError;

use super::error::ApiError;
use super::ids::{Clock, Ids};
use super::json::JsonObject;
use super::overflow::Overflow;
use super::request::{ApiRequest, Defaults, read_body};
use super::{chat, completions, messages, responses};
use model::{ConstraintField, StartError};

/// A protocol whose requests generate text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// The Responses API.
    Responses,
    /// Chat Completions.
    Chat,
    /// Completions of raw prompts.
    Completions,
    /// Anthropic's Messages.
    Messages,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Responses, Self::Chat, Self::Completions, Self::Messages];

    /// The protocol's usual name, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Responses => "Responses",
            Self::Chat => "Chat Completions",
            Self::Completions => "Completions",
            Self::Messages => "Messages",
        }
    }

    /// The protocol's word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Completions => "completions",
            Self::Messages => "messages",
        }
    }

    /// The protocol of this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.word() == word)
    }

    /// Reads a request body, whichever model it asks for.
    pub fn read(self, body: &[u8], defaults: &Defaults) -> Result<ApiRequest, ApiError> {
        read_body(body, &defaults.limits, |body| {
            self.read_object(body, defaults, Ids::random(), &Clock::system())
        })
    }

    /// Reads a request body with the defaults of the model that it asks for. The answer's ids are
    /// `ids`, and its times `now`.
    pub fn read_object(
        self,
        body: &JsonObject<'_>,
        defaults: &Defaults,
        ids: Ids,
        now: &Clock,
    ) -> Result<ApiRequest, ApiError> {
        match self {
            Self::Responses => responses::read(body, defaults, ids, now),
            Self::Chat => chat::read(body, defaults, ids, now),
            Self::Completions => completions::read(body, defaults, ids, now),
            Self::Messages => messages::read(body, defaults, ids, now),
        }
    }

    /// The error that a client gets for a job that couldn't be started.
    pub fn refusal(self, error: &StartError) -> ApiError {
        let prompt = match self {
            Self::Responses => "input",
            Self::Chat | Self::Messages => "messages",
            Self::Completions => "prompt",
        };
        if let Some(overflow) = Overflow::of(error) {
            return if self == Self::Messages { overflow.anthropic() } else { overflow.openai(prompt) };
        }
        match error {
            StartError::Engine(SubmitError::PromptLength { .. }) => {
                ApiError::invalid(prompt.to_owned(), "The prompt is empty: send at least one token.")
            }
            StartError::Engine(SubmitError::Busy(_)) => ApiError::rate_limited(1),
            StartError::Engine(SubmitError::Unsupported { field, .. }) => {
                ApiError::invalid((*field).to_owned(), error.to_string()).with_code("unsupported_parameter")
            }
            StartError::Constraint { field, reason } => {
                let field = self.name_of(*field);
                ApiError::invalid(field.to_owned(), format!("{field}: {reason}"))
                    .with_code("unsupported_parameter")
            }
            StartError::Engine(SubmitError::Stopped) => ApiError::unavailable("The engine has stopped."),
            StartError::Engine(SubmitError::Overloaded { retry_after, dropped }) => {
                dropped_by(*dropped, ApiError::rate_limited(seconds(*retry_after).unwrap_or(1)))
            }
            StartError::Engine(SubmitError::Unavailable { retry_after, dropped }) => {
                let error = ApiError::unavailable("The engine takes no requests now.");
                let retry_after = seconds(*retry_after).or(error.retry_after);
                dropped_by(*dropped, ApiError { retry_after, ..error })
            }
            StartError::Engine(SubmitError::Failed(_)) => {
                tracing::error!(%error, "the engine failed to begin an answer");
                ApiError::internal("The engine failed while it began this answer; try again.")
            }
            StartError::Prompt(_) | StartError::Replay(_) => {
                ApiError::invalid(prompt.to_owned(), error.to_string())
            }
            StartError::UnknownToken(_) => {
                ApiError::invalid(None, format!("{error}: send ids that it has.")).with_code("invalid_value")
            }
            StartError::NoGrammarMemory => {
                let error = ApiError::rate_limited(1);
                let message = "The schemas and grammars of other answers leave no memory for this one's. Please try again in 1s.";
                ApiError { message: message.to_owned(), ..error }
            }
            // Nobody reads this.
            StartError::Left => ApiError::unavailable("The client has left."),
            StartError::Engine(SubmitError::UnknownToken(_)) | StartError::Internal => {
                tracing::error!(%error, "a job couldn't be started");
                ApiError::internal("The server failed to make a prompt of this request.")
            }
        }
    }

    /// The protocol's name for a request field that constrains the answer.
    fn name_of(self, field: ConstraintField) -> &'static str {
        match (field, self) {
            (ConstraintField::Format, Self::Responses) => "text.format",
            (ConstraintField::Schema, Self::Responses) => "text.format.schema",
            (ConstraintField::Format | ConstraintField::Schema, Self::Messages) => "output_config.format",
            (ConstraintField::Format | ConstraintField::Schema, Self::Chat) => "response_format",
            (ConstraintField::Grammar, _)
            | (ConstraintField::Format | ConstraintField::Schema, Self::Completions) => "structured_outputs",
            (ConstraintField::ToolChoice, _) => "tool_choice",
            (ConstraintField::Tools, _) => "tools",
        }
    }
}

/// The error with a gateway's reason for dropping the request, if it gave one.
fn dropped_by(reason: Option<&'static str>, error: ApiError) -> ApiError {
    let Some(reason) = reason else { return error };
    let wait = error.retry_after.unwrap_or(1);
    let message = format!(
        "The gateway before the engines dropped the request ({reason}). Please try again in {wait}s."
    );
    ApiError { message, ..error }
}

/// `wait` in whole seconds, rounded up.
fn seconds(wait: Option<Duration>) -> Option<u64> {
    wait.map(|wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Protocol, StartError, SubmitError};

    #[test]
    fn unavailable_engine_is_503_with_its_retry_after() {
        for (wait, seconds) in [(None, 1), (Some(0), 0), (Some(1_200), 2), (Some(30_000), 30)] {
            let retry_after = wait.map(Duration::from_millis);
            let error = StartError::Engine(SubmitError::Unavailable { retry_after, dropped: None });
            let error = Protocol::Responses.refusal(&error);
            assert_eq!((error.status, error.retry_after), (503, Some(seconds)));
        }
    }
}
