//! One output's parser, as Symphony knows them.

use std::sync::Arc;

use contract::Request;
use openai_protocol::common::Tool;
use symphony::{Events, Input, ParseError, Parser};

use super::reading::Reading;
use reader::{Form, Reader};

/// Parser of one output, which a component in its sandbox reads.
///
/// - The prompt is the whole prompt; the part of it that belongs to the model's turn is found by
///   the reader.
/// - Where the reader has a tokenizer, and deltas have token ids, markers are found by their ids,
///   those too whose text the decoder hides; otherwise they are found in the text.
/// - A parser that fails makes the call fail in which it did, with [`ParseError::Internal`], and
///   gives what it held as `Malformed` at the end. A call that was cut off ends with a `Malformed`
///   behind it, which has the bytes of it that no other event has, often none.
/// - White space that the format's parser trims is `Dropped`.
pub struct SymphonyParser {
    reader: Arc<Reader>,
    request: Request,
    /// The part of the prompt that belongs to the model's turn.
    opening: String,
    stage: Stage,
}

enum Stage {
    Fresh,
    Reading(Box<Reading>),
    /// It couldn't be started; what was fed then is given back.
    Refused(String),
    Ended,
}

impl SymphonyParser {
    /// A parser for one choice of a request with these tools.
    pub fn new(reader: Arc<Reader>, tools: &[Tool]) -> Self {
        let functions = tools.iter().map(|tool| (&*tool.function.name, tool.function.parameters.to_string()));
        let request = reader.request(functions);
        Self { reader, request, opening: String::new(), stage: Stage::Fresh }
    }

    fn begin(&mut self, form: Form) -> Result<(), ParseError> {
        match Reading::new(&self.reader, &self.request, &self.opening, form) {
            Ok(reading) => self.stage = Stage::Reading(Box::new(reading)),
            Err(error) => {
                self.stage = Stage::Refused(String::new());
                return Err(error);
            }
        }
        Ok(())
    }

    fn prompt(&mut self, text: &str) -> Result<(), ParseError> {
        if !matches!(self.stage, Stage::Fresh) {
            return Err(ParseError::Lifecycle("a second prompt".to_owned()));
        }
        self.reader.turn_in(text).clone_into(&mut self.opening);
        self.begin(if self.reader.tokenizer().is_some() { Form::Tokens } else { Form::Text })
    }
}

impl Parser for SymphonyParser {
    fn feed(&mut self, input: Input<'_>, out: &mut Events) -> Result<(), ParseError> {
        match input {
            Input::Prompt { text, .. } => self.prompt(text),
            Input::Delta { token_ids, text, spans } => {
                let is_text = token_ids.is_empty() && spans.is_empty() && !text.is_empty();
                if let Stage::Reading(reading) = &self.stage
                    && is_text
                    && reading.may_change_to(Form::Text)
                {
                    self.begin(Form::Text)?;
                }
                match &mut self.stage {
                    Stage::Reading(reading) => reading.delta(&self.reader, token_ids, text, spans, out),
                    Stage::Refused(unread) => {
                        unread.push_str(text);
                        Err(ParseError::Internal("the parser refused the request".to_owned()))
                    }
                    Stage::Fresh => Err(ParseError::Lifecycle("a delta before the prompt".to_owned())),
                    Stage::Ended => Err(ParseError::Lifecycle("a delta behind the end".to_owned())),
                }
            }
            Input::End { finish } => match std::mem::replace(&mut self.stage, Stage::Ended) {
                Stage::Reading(reading) => reading.finish(&self.reader, finish, out),
                Stage::Refused(unread) => {
                    super::reading::give_back(finish, &unread, out);
                    Ok(())
                }
                Stage::Fresh => {
                    self.stage = Stage::Fresh;
                    Err(ParseError::Lifecycle("the end before the prompt".to_owned()))
                }
                Stage::Ended => Err(ParseError::Lifecycle("a second end".to_owned())),
            },
        }
    }
}
