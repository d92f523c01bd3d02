//! A stream that is being read.

use anyhow::{Result, anyhow};
use contract::{FinishReason, Request};
use dynamo_parsers_v2::UnifiedParserOutput;
use parsers::OutputStream;

use super::detokenizer::Detokenizer;
use super::events::Items;
use super::fed::{Fed, Piece};
use reader::{Form, Reader, Tokenizer};

/// What streams are started with.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) request: Request,
    /// The part of the prompt that belongs to the model's turn.
    pub(crate) opening: String,
    pub(crate) keeps_phases: bool,
}

/// One stream.
pub(crate) struct Reading {
    stream: OutputStream,
    detokenizer: Detokenizer,
    items: Items,
    pub(crate) fed: Fed,
    /// Text whose place in the output isn't known yet.
    unread: String,
    /// Number of the turn's bytes that came before `unread`, the prompt's included.
    settled: u64,
}

impl Reading {
    pub(crate) fn new(reader: &Reader, start: &Start, form: Form) -> Result<Self> {
        let settings = reader.settings(&start.request);
        let stream = reader
            .start(form, &start.request, &start.opening, settings)
            .map_err(|fault| anyhow!("parser {} refuses the request: {}", fault.parser, fault.reason))?;
        Ok(Self {
            settled: stream.turn().bytes().taken,
            stream,
            detokenizer: Detokenizer::default(),
            items: Items::new(start.keeps_phases),
            fed: Fed::new(form),
            unread: String::new(),
        })
    }

    /// Takes a piece of the stream's form.
    ///
    /// # Errors
    /// It can't be read, or the parser failed. What is in `output` stands, and [`Self::into_unread`]
    /// is the rest.
    pub(crate) fn push(
        &mut self,
        piece: Piece<'_>,
        tokenizer: Option<&dyn Tokenizer>,
        output: &mut UnifiedParserOutput,
    ) -> Result<()> {
        if !self.fed.push(piece) {
            return Err(anyhow!("text and token ids in one stream: feed the one that it began with"));
        }
        match (piece, tokenizer) {
            (Piece::Text(text), _) => self.take(text, &[], None, output),
            (Piece::Tokens(ids), Some(tokenizer)) => {
                let text = self.detokenizer.push(ids, &|ids| tokenizer.decode(ids))?;
                self.take(&text, ids, Some(tokenizer), output)
            }
            (Piece::Tokens(_), None) => Err(anyhow!("token ids, and the reader has no tokenizer")),
        }
    }

    fn take(
        &mut self,
        text: &str,
        ids: &[u32],
        tokenizer: Option<&dyn Tokenizer>,
        output: &mut UnifiedParserOutput,
    ) -> Result<()> {
        self.unread.push_str(text);
        let decode = |ids: &[u32]| tokenizer?.decode(ids);
        let events = self.stream.push(text, ids, Some(&decode))?;
        self.items.hand_on(events, output);
        self.settle();
        self.check()
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// The parser failed; [`Self::into_unread`] is all that hadn't been told before.
    pub(crate) fn finish(
        &mut self,
        reason: FinishReason,
        tokenizer: Option<&dyn Tokenizer>,
    ) -> Result<UnifiedParserOutput> {
        let mut output = UnifiedParserOutput::default();
        if let Some(tokenizer) = tokenizer {
            let rest = self.detokenizer.finish(&|ids| tokenizer.decode(ids))?;
            self.take(&rest, &[], Some(tokenizer), &mut output)?;
        }
        let (events, _) = self.stream.finish(reason, None);
        self.items.hand_on(events, &mut output);
        self.check()?;
        Ok(output)
    }

    pub(crate) fn keep_phases(&mut self, enabled: bool) {
        self.items.keeps_phases = enabled;
    }

    /// Ids that the model wrote for its calls; empty where it wrote none.
    pub(crate) fn own_ids(&self) -> &[String] {
        &self.items.own_ids
    }

    /// Text that had no place in the output.
    pub(crate) fn into_unread(self) -> String {
        self.unread
    }

    fn check(&self) -> Result<()> {
        match self.stream.turn().fault() {
            Some(fault) => Err(anyhow!("parser {} failed: {}", fault.parser, fault.reason)),
            None => Ok(()),
        }
    }

    /// Forgets the text whose place is known.
    fn settle(&mut self) {
        let turn = self.stream.turn();
        let bytes = turn.bytes();
        let settled = bytes.routed + bytes.dropped + bytes.aside;
        let settled = settled.saturating_sub(turn.unread_bytes()).max(self.settled);
        let count = usize::try_from(settled - self.settled).unwrap_or(usize::MAX);
        self.unread.drain(..count.min(self.unread.len()));
        self.settled = settled;
    }
}
