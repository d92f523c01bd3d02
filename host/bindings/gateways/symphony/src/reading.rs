//! An output that is being read.

use contract::{FinishReason, Request};
use parsers::OutputStream;
use symphony::{EngineFinish, Events, ParseError, TokenSpan};
use turn::TurnEnd;

use super::events::Output;
use reader::{Form, Reader};

/// One output.
pub(crate) struct Reading {
    stream: OutputStream,
    form: Form,
    output: Output,
    /// Tokens without text: their text comes later, or is hidden.
    textless: Vec<u32>,
    /// Why the parser failed, and the text that it didn't get.
    failed: Option<(ParseError, String)>,
    is_begun: bool,
}

impl Reading {
    pub(crate) fn new(
        reader: &Reader,
        request: &Request,
        opening: &str,
        form: Form,
    ) -> Result<Self, ParseError> {
        let mut settings = reader.settings(request);
        settings.shows_routes = true;
        let stream = reader.start(form, request, opening, settings).map_err(|fault| {
            ParseError::Internal(format!("parser {} refuses the request: {}", fault.parser, fault.reason))
        })?;
        let output = Output::new(reader.plugin().descriptor().reasoning_end.clone());
        Ok(Self { stream, form, output, textless: Vec::new(), failed: None, is_begun: false })
    }

    /// Whether it was begun for another form of stream, and nothing was fed.
    pub(crate) fn may_change_to(&self, form: Form) -> bool {
        self.form != form && !self.is_begun
    }

    /// Takes a delta.
    ///
    /// # Errors
    /// The parser failed; it has failed for good, and [`Self::finish`] gives what wasn't put out.
    pub(crate) fn delta(
        &mut self,
        reader: &Reader,
        ids: &[u32],
        text: &str,
        spans: &[TokenSpan],
        out: &mut Events,
    ) -> Result<(), ParseError> {
        self.is_begun |= !ids.is_empty() || !text.is_empty();
        self.output.tokens.note(text, spans);
        if self.form == Form::Text {
            return self.feed(reader, text, &[], out);
        }
        let tells_tokens = !spans.is_empty() && TokenSpan::partitions(text, spans);
        if !tells_tokens {
            return self.feed(reader, text, ids, out);
        }
        for span in spans {
            self.span(reader, *span, &text[span.start..span.end], out);
        }
        self.failure()
    }

    /// Takes a token's text, or a part of it.
    fn span(&mut self, reader: &Reader, span: TokenSpan, text: &str, out: &mut Events) {
        if text.is_empty() {
            self.textless.extend((!span.continued).then_some(span.token_id));
            return;
        }
        // Text comes in the tokens' order: that of a token before this one comes no more.
        let late = self.textless.iter().position(|id| span.continued && *id == span.token_id);
        let hidden = if span.continued { late.unwrap_or(0) } else { self.textless.len() };
        self.hidden(reader, hidden, out);
        let is_new = !span.continued || late.is_some();
        self.textless.drain(..usize::from(late.is_some()));
        let ids: &[u32] = if is_new { &[span.token_id] } else { &[] };
        // What fails is in `failed`.
        let _ = self.feed(reader, text, ids, out);
    }

    /// Feeds the first textless tokens, whose text is hidden. Only markers say anything.
    fn hidden(&mut self, reader: &Reader, count: usize, out: &mut Events) {
        let hidden: Vec<u32> = self.textless.drain(..count).collect();
        for id in hidden {
            let Some(literal) = reader.marker(id).filter(|_| self.failed.is_none()) else { continue };
            self.output.hidden.feed_hidden(literal);
            self.push(reader, literal, &[id], out);
        }
    }

    /// Feeds text of the output.
    fn feed(&mut self, reader: &Reader, text: &str, ids: &[u32], out: &mut Events) -> Result<(), ParseError> {
        if let Some((_, after)) = &mut self.failed {
            after.push_str(text);
        } else {
            self.output.hidden.feed(text);
            self.push(reader, text, ids, out);
        }
        self.failure()
    }

    fn push(&mut self, reader: &Reader, text: &str, ids: &[u32], out: &mut Events) {
        let decode = |ids: &[u32]| reader.tokenizer()?.decode(ids);
        match self.stream.push(text, ids, Some(&decode)) {
            Ok(events) => self.output.hand_on(events, out),
            Err(error) => self.failed = Some((ParseError::Internal(error.to_string()), text.to_owned())),
        }
        self.look_for_fault();
    }

    fn look_for_fault(&mut self) {
        if let Some(fault) = self.stream.turn().fault().filter(|_| self.failed.is_none()) {
            let error = format!("parser {} failed: {}", fault.parser, fault.reason);
            self.failed = Some((ParseError::Internal(error), String::new()));
        }
    }

    fn failure(&self) -> Result<(), ParseError> {
        self.failed.as_ref().map_or(Ok(()), |(error, _)| Err(error.clone()))
    }

    /// Ends the output.
    ///
    /// # Errors
    /// The parser failed at the end.
    pub(crate) fn finish(
        mut self,
        reader: &Reader,
        finish: EngineFinish,
        out: &mut Events,
    ) -> Result<(), ParseError> {
        let failed_before = self.failed.is_some();
        self.hidden(reader, self.textless.len(), out);
        let reason = match finish {
            EngineFinish::Stop => FinishReason::Stop,
            EngineFinish::Abort => FinishReason::Cancelled,
            EngineFinish::Length | EngineFinish::Other(_) => FinishReason::Length,
        };
        let (events, end) = self.stream.finish(reason, None);
        self.output.hand_on(events, out);
        self.look_for_fault();
        match &self.failed {
            Some((error, after)) => {
                let unread = self.stream.turn().unread_bytes();
                self.output.give_back(unread, &error.to_string(), after, out);
            }
            None => self.output.drop_rest(out),
        }
        let called = self.output.has_calls() && !matches!(end, TurnEnd::Failed(_));
        self.output.finish(refined(finish, called), out);
        if failed_before { Ok(()) } else { self.failure() }
    }
}

fn refined(finish: EngineFinish, called: bool) -> symphony::FinishReason {
    match finish {
        EngineFinish::Stop if called => symphony::FinishReason::ToolCalls,
        EngineFinish::Stop => symphony::FinishReason::Stop,
        EngineFinish::Length => symphony::FinishReason::Length,
        EngineFinish::Abort => symphony::FinishReason::Abort,
        EngineFinish::Other(reason) => symphony::FinishReason::Other(reason),
    }
}

/// Ends an output of which nothing could be read.
pub(crate) fn give_back(finish: EngineFinish, unread: &str, out: &mut Events) {
    let mut output = Output::new(None);
    output.give_back(0, "the parser refused the request", unread, out);
    output.finish(refined(finish, false), out);
}
