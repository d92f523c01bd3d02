//! Event machine of Completions: makes chunks of a stream, and the answer in one piece, from one
//! turn for each choice. All text of a turn is the choice's text, since no parser reads raw
//! prompts' turns.

use super::logprobs::{TextLogprobs, TokenNames};
use super::objects::{Completion, TextChoice};
use crate::error::{ApiError, cancelled};
use crate::event_buffer::EventBuffer;
use crate::machine::Machine;
use crate::token_ids::{TokenIds, UnsentIds};
use model::{Echo, RawStep, RawTurn};
use turn::{Delta, TokenLogprobs, TurnEnd, TurnEvent, TurnFailure, Usage};

/// Options of a request that decide what its answer holds.
#[derive(Debug)]
pub(super) struct OutputOptions {
    /// Number of choices of all prompts together.
    pub(super) choices: usize,
    /// How tokens are named, if the answer lists them with their log-probabilities.
    pub(super) logprobs: Option<TokenNames>,
    /// Whether the answer has the token ids of prompt and output.
    pub(super) token_ids: bool,
    /// Whether a stream has a last chunk with the usage.
    pub(super) include_usage: bool,
}

/// The chunk machine of one answer.
#[derive(Debug)]
pub struct CompletionMachine {
    id: String,
    created: u64,
    model: String,
    asked: OutputOptions,
    choices: Vec<ChoiceMachine>,
    /// Index of the choice that the next event belongs to.
    current: usize,
    /// Number of choices whose turn hasn't ended.
    open: usize,
    /// Usage of all choices together.
    usage: Usage,
    failure: Option<TurnFailure>,
}

/// No token up to which ids are sent: all are.
const NONE: Option<std::iter::Empty<u32>> = None;

/// State of one choice.
#[derive(Debug, Default)]
struct ChoiceMachine {
    text: String,
    /// Length of `text` in characters.
    characters: usize,
    logprobs: Option<TextLogprobs>,
    finish_reason: Option<&'static str>,
    /// The token that ended the choice, for the last chunk, if the client asked for
    /// log-probabilities.
    stop_token: Option<TextLogprobs>,
    /// Token ids that no chunk has carried yet, if the client asked for them.
    unsent: Option<UnsentIds>,
    /// Tokens of the prompt and of the output: set at the turn's end, if the client asked for them.
    raw: Option<RawTurn>,
}

impl CompletionMachine {
    /// A machine for an answer to a request for `model`.
    pub(super) fn new(id: String, created: u64, model: String, asked: OutputOptions) -> Self {
        let choice = |_| ChoiceMachine {
            logprobs: asked.logprobs.map(|_| TextLogprobs::default()),
            unsent: asked.token_ids.then(UnsentIds::default),
            ..ChoiceMachine::default()
        };
        let choices: Vec<ChoiceMachine> = (0..asked.choices).map(choice).collect();
        let open = choices.len();
        Self { id, created, model, asked, choices, current: 0, open, usage: Usage::default(), failure: None }
    }

    fn send(&self, choices: &[TextChoice<'_>], usage: Option<Usage>, buffer: &mut EventBuffer) {
        buffer.push(None, &self.completion(choices, usage));
    }

    fn completion<'a>(&'a self, choices: &'a [TextChoice<'a>], usage: Option<Usage>) -> Completion<'a> {
        Completion {
            id: &self.id,
            object: "text_completion",
            created: self.created,
            model: &self.model,
            choices,
            usage: usage.map(Into::into),
        }
    }

    fn text(&mut self, delta: &Delta, buffer: &mut EventBuffer) {
        let names = self.asked.logprobs;
        let logprobs = self.choices[self.current].take(delta, names);
        // Ids go with their log-probabilities, which come with the first byte of the token's text.
        let through = names.map(|_| delta.tokens.iter().map(|token| token.logprobs.chosen.id));
        self.send_text(delta, logprobs, through, buffer);
    }

    fn send_text(
        &mut self,
        text: &str,
        logprobs: Option<TextLogprobs>,
        through: Option<impl Iterator<Item = u32>>,
        buffer: &mut EventBuffer,
    ) {
        let (index, ids) = (self.current, TokenIds::default());
        let choice = TextChoice { index, text, logprobs: logprobs.as_ref(), finish_reason: None, ids };
        self.send_choice(choice, through, buffer);
        self.choices[index].append(logprobs);
    }

    /// Sends a chunk of one choice with the ids that are due: all, or those up to the last token of
    /// `through`.
    fn send_choice(
        &mut self,
        choice: TextChoice<'_>,
        through: Option<impl Iterator<Item = u32>>,
        buffer: &mut EventBuffer,
    ) {
        let index = choice.index;
        let mut unsent = self.choices[index].unsent.take();
        match (&mut unsent, through) {
            (None, _) => self.send(&[choice], None, buffer),
            (Some(unsent), None) => {
                unsent.send_all(|ids| self.send(&[TextChoice { ids, ..choice }], None, buffer));
            }
            (Some(unsent), Some(chosen)) => {
                let count = unsent.count_through(chosen);
                unsent.send_first(count, |ids| self.send(&[TextChoice { ids, ..choice }], None, buffer));
            }
        }
        self.choices[index].unsent = unsent;
    }

    fn no_text(&self) -> TextChoice<'static> {
        let (index, ids) = (self.current, TokenIds::default());
        TextChoice { index, text: "", logprobs: None, finish_reason: None, ids }
    }

    fn fail(&mut self, failure: TurnFailure, buffer: &mut EventBuffer) {
        buffer.push(None, &ApiError::turn(&failure).envelope());
        self.failure = Some(failure);
    }
}

impl ChoiceMachine {
    fn append(&mut self, logprobs: Option<TextLogprobs>) {
        if let (Some(all), Some(more)) = (&mut self.logprobs, logprobs) {
            all.append(more);
        }
    }

    /// Begins the choice with its prompt. Returns the prompt's tokens, if the client asked for
    /// log-probabilities.
    fn take_echo(&mut self, echo: &Echo, names: Option<TokenNames>) -> Option<TextLogprobs> {
        self.text.push_str(&echo.text);
        self.characters = echo.text.chars().count();
        let names = names?;
        let (mut logprobs, mut bytes, mut characters) = (TextLogprobs::default(), 0, 0);
        for token in &echo.tokens {
            characters += echo.text[bytes..token.offset].chars().count();
            bytes = token.offset;
            logprobs.push_echoed(token, characters, names);
        }
        Some(logprobs)
    }

    /// Appends `delta`. Returns its tokens, if the client asked for log-probabilities.
    fn take(&mut self, delta: &Delta, names: Option<TokenNames>) -> Option<TextLogprobs> {
        let before = self.characters;
        self.text.push_str(delta);
        self.characters += delta.chars().count();
        let names = names?;
        let mut logprobs = TextLogprobs::default();
        for token in &delta.tokens {
            let at = delta.floor_char_boundary(token.offset);
            logprobs.push(&token.logprobs, before + delta[..at].chars().count(), names);
        }
        Some(logprobs)
    }
}

impl Machine for CompletionMachine {
    /// Writes nothing: the first chunk of a choice has its text.
    fn begin(&mut self, _buffer: &mut EventBuffer) {}

    fn echo(&mut self, echo: &Echo, buffer: &mut EventBuffer) {
        let logprobs = self.choices[self.current].take_echo(echo, self.asked.logprobs);
        // The prompt's ids have a field of their own.
        self.send_text(&echo.text, logprobs, Some(std::iter::empty()), buffer);
    }

    fn choose(&mut self, choice: usize) {
        debug_assert!(choice < self.choices.len(), "as many turns as choices");
        self.current = choice;
    }

    fn tokens(&mut self, step: &RawStep<'_>) {
        if let Some(unsent) = &mut self.choices[self.current].unsent {
            unsent.take(step);
        }
    }

    fn tokens_over(&mut self, buffer: &mut EventBuffer) {
        let is_due = self.choices[self.current].unsent.as_ref().is_some_and(|unsent| !unsent.is_empty());
        if is_due && self.asked.logprobs.is_none() {
            self.send_choice(self.no_text(), NONE, buffer);
        }
    }

    fn turn(&mut self, event: &TurnEvent, buffer: &mut EventBuffer) {
        if let TurnEvent::Text(delta) = event {
            self.text(delta, buffer);
        }
    }

    /// The token has no text, and its log-probabilities are told all the same, as `OpenAI` and vLLM
    /// do: there is an entry for each token.
    fn stopped_at(&mut self, token: &TokenLogprobs) {
        let choice = &mut self.choices[self.current];
        choice.stop_token = self.asked.logprobs.map(|names| {
            let mut logprobs = TextLogprobs::default();
            logprobs.push(token, choice.characters, names);
            logprobs
        });
    }

    /// Writes nothing: the protocol has no heartbeat event, and the transport's comments keep the
    /// connection open.
    fn heartbeat(&mut self, _buffer: &mut EventBuffer) {}

    fn raw(&mut self, turn: RawTurn) {
        self.choices[self.current].raw = Some(turn);
    }

    fn end(&mut self, end: &TurnEnd, usage: Usage, buffer: &mut EventBuffer) {
        self.usage += usage;
        let reason = match end {
            TurnEnd::Failed(failure) => return self.fail(failure.clone(), buffer),
            TurnEnd::Cancelled => return self.fail(cancelled(), buffer),
            TurnEnd::Completed => "stop",
            TurnEnd::MaxOutputTokens => "length",
        };
        self.choices[self.current].finish_reason = Some(reason);
        let logprobs = self.choices[self.current].stop_token.take();
        let last = TextChoice { finish_reason: Some(reason), logprobs: logprobs.as_ref(), ..self.no_text() };
        self.send_choice(last, NONE, buffer);
        self.choices[self.current].append(logprobs);
        self.open -= 1;
        if self.open == 0 && self.asked.include_usage {
            self.send(&[], Some(self.usage), buffer);
        }
    }

    fn body(&self) -> (u16, String) {
        if let Some(failure) = &self.failure {
            let error = ApiError::turn(failure);
            return (error.status, error.body());
        }
        let choices: Vec<TextChoice<'_>> = self
            .choices
            .iter()
            .enumerate()
            .map(|(index, ChoiceMachine { text, logprobs, finish_reason, raw, .. })| TextChoice {
                index,
                text,
                logprobs: logprobs.as_ref(),
                finish_reason: *finish_reason,
                ids: TokenIds::of(raw.as_ref()),
            })
            .collect();
        let completion = self.completion(&choices, Some(self.usage));
        (200, serde_json::to_string(&completion).expect("protocol types serialise"))
    }
}
