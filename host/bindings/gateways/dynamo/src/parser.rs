//! One stream's parser, as `dynamo-parsers-v2` knows them.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use contract::FinishReason;
use dynamo_parsers_v2::{
    Tool, UnifiedParser, UnifiedParserContinuation, UnifiedParserInit, UnifiedParserInputCapabilities,
    UnifiedParserOutput, UnifiedParserStartingState, UnifiedToolOutputMode,
};

use super::fed::{Fed, Piece};
use super::reading::{Reading, Start};
use reader::{Form, Opening, Reader, Tokenizer};

/// How many tokens of a prompt's end are looked at: more than a chat template writes of the model's
/// turn.
const PROMPT_TOKENS: usize = 256;

/// Parser of one stream, which a component in its sandbox reads.
///
/// - Text is read as text: a marker that somebody typed is a marker. Where the reader has a
///   tokenizer, token ids can be fed instead, which tell markers from text that spells them.
/// - A parser that fails makes the call fail in which it did; what was put out before stands, and
///   `reset` returns the rest.
/// - `finish` is for a stream that was cut: a call that isn't whole stays incomplete.
///   `finish_at_eos` is for one that the model ended.
/// - `continuation` keeps what was fed, and `fork` has another instance read it again.
/// - Guided output, which is no format of a model's, is refused.
pub struct DynamoParser {
    reader: Arc<Reader>,
    start: Start,
    stage: Stage,
}

enum Stage {
    /// Nothing was fed.
    Fresh,
    Reading(Box<Reading>),
    /// It failed, with this text left.
    Failed(String),
    /// It was finished; the model wrote these ids for its calls.
    Finished(Vec<String>),
}

impl DynamoParser {
    /// A parser for one choice of a request with these tools.
    pub fn new(reader: Arc<Reader>, tools: &[Tool]) -> Self {
        let tools = tools.iter().map(|tool| (&*tool.name, tool.parameters.to_string()));
        let request = reader.request(tools);
        let start = Start { request, opening: String::new(), keeps_phases: false };
        Self { reader, start, stage: Stage::Fresh }
    }

    fn tokenizer(&self) -> Option<&dyn Tokenizer> {
        self.reader.tokenizer()
    }

    /// The part of the prompt that belongs to the model's turn: the tokens say it, else the state.
    fn opening(&self, init: &UnifiedParserInit) -> Result<String> {
        if let Some(tokenizer) = self.tokenizer().filter(|_| !init.prompt_token_ids.is_empty()) {
            let ids = &init.prompt_token_ids;
            let tail = &ids[ids.len().saturating_sub(PROMPT_TOKENS)..];
            let text =
                tokenizer.decode(tail).context("the tokenizer has no text for the prompt's token ids")?;
            return Ok(self.reader.turn_in(&text).to_owned());
        }
        let opening = match init.starting_state {
            UnifiedParserStartingState::None => return Ok(String::new()),
            UnifiedParserStartingState::Reasoning => Opening::Reasoning,
            UnifiedParserStartingState::Response => Opening::Answer,
        };
        let text = self.reader.opening(opening).ok_or_else(|| {
            let parser = &self.reader.plugin().descriptor().name;
            anyhow!("no marker of parser {parser} alone opens {:?}: give the reader a tokenizer, and the prompt's token ids", init.starting_state)
        })?;
        Ok(text.to_owned())
    }

    fn advance(&mut self, piece: Piece<'_>, output: &mut UnifiedParserOutput) -> Result<()> {
        match &self.stage {
            Stage::Failed(_) => bail!("the parser failed before: reset it"),
            Stage::Finished(_) => bail!("the stream was finished before: reset the parser"),
            Stage::Fresh | Stage::Reading(_) => {}
        }
        if piece.is_empty() {
            return Ok(());
        }
        let form = piece.form();
        // What `initialize_request` began is for token ids, if they can be read.
        let was_begun = |reading: &Reading| reading.fed.has(form) || !reading.fed.is_empty();
        if !matches!(&self.stage, Stage::Reading(reading) if was_begun(reading)) {
            self.begin(form)?;
        }
        let Stage::Reading(reading) = &mut self.stage else { bail!("the stream wasn't begun") };
        let read = reading.push(piece, self.reader.tokenizer(), output);
        if read.is_err() {
            self.fail();
        }
        read
    }

    fn begin(&mut self, form: Form) -> Result<()> {
        self.stage = Stage::Reading(Box::new(Reading::new(&self.reader, &self.start, form)?));
        Ok(())
    }

    fn fail(&mut self) {
        let stage = std::mem::replace(&mut self.stage, Stage::Fresh);
        if let Stage::Reading(reading) = stage {
            self.stage = Stage::Failed(reading.into_unread());
        }
    }

    fn end(&mut self, reason: FinishReason) -> Result<UnifiedParserOutput> {
        match &mut self.stage {
            Stage::Fresh => {
                self.stage = Stage::Finished(Vec::new());
                Ok(UnifiedParserOutput::default())
            }
            Stage::Finished(_) => Ok(UnifiedParserOutput::default()),
            Stage::Failed(_) => bail!("the parser failed before: reset it"),
            Stage::Reading(reading) => {
                let tokenizer = self.reader.tokenizer().filter(|_| reading.fed.has(Form::Tokens));
                let output = reading.finish(reason, tokenizer);
                match output {
                    Ok(_) => self.stage = Stage::Finished(reading.own_ids().to_vec()),
                    Err(_) => self.fail(),
                }
                output
            }
        }
    }
}

impl UnifiedParser for DynamoParser {
    fn continuation(&mut self) -> Result<Option<Box<dyn UnifiedParserContinuation>>> {
        let fed = match &self.stage {
            Stage::Fresh => None,
            Stage::Reading(reading) => Some(reading.fed.clone()),
            Stage::Failed(_) => bail!("the parser failed before: reset it"),
            Stage::Finished(_) => bail!("the stream was finished before"),
        };
        Ok(Some(Box::new(Continuation { reader: Arc::clone(&self.reader), start: self.start.clone(), fed })))
    }

    fn preserve_message_phases(&mut self, enabled: bool) {
        self.start.keeps_phases = enabled;
        if let Stage::Reading(reading) = &mut self.stage {
            reading.keep_phases(enabled);
        }
    }

    fn input_capabilities(&self) -> UnifiedParserInputCapabilities {
        UnifiedParserInputCapabilities { text: true, token_ids: self.tokenizer().is_some() }
    }

    fn initialize_request(&mut self, init: UnifiedParserInit) -> Result<()> {
        if let UnifiedToolOutputMode::GuidedJson { .. } = init.tool_output_mode {
            bail!("a parser of Sluice reads what the model's own format says, and no guided JSON");
        }
        match &self.stage {
            Stage::Fresh => {}
            Stage::Reading(reading) if reading.fed.is_empty() => {}
            _ => bail!("the request came after the output: reset the parser"),
        }
        self.start.opening = self.opening(&init)?;
        self.begin(if self.tokenizer().is_some() { Form::Tokens } else { Form::Text })
    }

    fn parse_into(&mut self, delta: &str, output: &mut UnifiedParserOutput) -> Result<()> {
        self.advance(Piece::Text(delta), output)
    }

    fn parse_token_ids_into(&mut self, token_ids: &[u32], output: &mut UnifiedParserOutput) -> Result<()> {
        if self.tokenizer().is_none() {
            bail!("this parser was given no tokenizer, and reads text");
        }
        self.advance(Piece::Tokens(token_ids), output)
    }

    fn finish(&mut self) -> Result<UnifiedParserOutput> {
        self.end(FinishReason::Length)
    }

    fn finish_at_eos(&mut self) -> Result<UnifiedParserOutput> {
        self.end(FinishReason::Stop)
    }

    fn reset(&mut self) -> String {
        match std::mem::replace(&mut self.stage, Stage::Fresh) {
            Stage::Reading(reading) => reading.into_unread(),
            Stage::Failed(unread) => unread,
            Stage::Fresh | Stage::Finished(_) => String::new(),
        }
    }

    fn tool_call_id(&self, tool_index: usize) -> Option<&str> {
        let ids = match &self.stage {
            Stage::Reading(reading) => reading.own_ids(),
            Stage::Finished(ids) => ids,
            Stage::Fresh | Stage::Failed(_) => return None,
        };
        ids.get(tool_index).map(String::as_str).filter(|id| !id.is_empty())
    }

    fn preserve_special_tokens(&self) -> bool {
        true
    }
}

/// What a stream was fed up to some place.
struct Continuation {
    reader: Arc<Reader>,
    start: Start,
    fed: Option<Fed>,
}

impl UnifiedParserContinuation for Continuation {
    fn fork(&self) -> Result<Box<dyn UnifiedParser>> {
        let (reader, start) = (Arc::clone(&self.reader), self.start.clone());
        let mut parser = DynamoParser { reader, start, stage: Stage::Fresh };
        for piece in self.fed.iter().flat_map(Fed::pieces) {
            parser.advance(piece, &mut UnifiedParserOutput::default())?;
        }
        Ok(Box::new(parser))
    }
}
