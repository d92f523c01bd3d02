//! Streams of a program that has a tokenizer and an engine of its own: a plugin is bound to the
//! tokenizer once, and started for each stream, which takes text and token ids as the program's
//! detokenizer makes them.
//!
//! Invariant: the events are those of the server, which knows the text of each token (`aligner`).
//! Called by embedders and bindings; the server has its own path (`model::generate`).

mod aligner;
mod literals;

use std::fmt;
use std::sync::Arc;

pub use self::aligner::AlignError;
use self::aligner::{Aligner, pieces};
use self::literals::TokenLiterals;
use super::plugin::Plugin;
use contract::{Fault, FinishReason, Request};
use turn::{
    Binding, Flow, MarkerError, TokenText, Turn, TurnEnd, TurnEvent, TurnEvents, TurnSettings,
    counted_call_ids,
};

/// A plugin bound to a tokenizer.
#[derive(Debug, Clone)]
pub struct BoundPlugin {
    plugin: Arc<Plugin>,
    binding: Arc<Binding>,
    literals: Arc<TokenLiterals>,
}

/// Function that returns the text of some tokens of a stream, special ones included; `None` if it
/// can't.
pub type Decode<'a> = &'a dyn Fn(&[u32]) -> Option<String>;

impl Plugin {
    /// Binds the plugin to a tokenizer: `token_id` returns the id of a literal that is an *added*
    /// token of it, and `None` for others. If it always returns `None`, markers are found in the
    /// text, and ids aren't looked at.
    ///
    /// # Errors
    /// The parser's markers can't be used.
    pub fn bind(
        self: &Arc<Self>,
        token_id: impl Fn(&str) -> Option<u32>,
    ) -> Result<BoundPlugin, MarkerError> {
        let binding = Binding::new(self.descriptor(), token_id)?;
        let literals = Arc::new(TokenLiterals::of(binding.markers()));
        Ok(BoundPlugin { plugin: Arc::clone(self), binding, literals })
    }
}

impl BoundPlugin {
    /// The plugin.
    pub fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    /// Starts a stream with the settings of a server, but for the ids of its calls, which are
    /// counted ([`counted_call_ids`]).
    ///
    /// # Errors
    /// As [`Self::start_with`].
    pub fn start(&self, request: &Request, prompt: &str) -> Result<OutputStream, Fault> {
        let mut settings = TurnSettings::of(request, counted_call_ids());
        settings.reads_on = true;
        self.start_with(request, prompt, settings)
    }

    /// Starts a stream. `prompt` is what the chat template wrote of the model's turn
    /// (`add_generation_prompt`), such as `<|im_start|>assistant\n<think>\n`. Which markers come as
    /// tokens is set here, in `request` and `settings`.
    ///
    /// # Errors
    /// The parser can't be made, or refuses the request.
    pub fn start_with(
        &self,
        request: &Request,
        prompt: &str,
        mut settings: TurnSettings,
    ) -> Result<OutputStream, Fault> {
        let token_markers = self.binding.markers().tokens();
        settings.token_markers = token_markers.as_slice().into();
        let parser = self.plugin.start(&Request { token_markers, ..request.clone() })?;
        let mut turn = Turn::new(&self.binding, parser, settings);
        let mut events = TurnEvents::default();
        let flow = turn.replay(&self.literals.split(prompt), &mut events);
        let aligner = Aligner::new(Arc::clone(&self.literals));
        Ok(OutputStream { turn, aligner, events, are_given: false, flow })
    }
}

/// The output of one turn. Calls come in this order: any number of [`Self::push`], then
/// [`Self::finish`].
pub struct OutputStream {
    turn: Turn,
    aligner: Aligner,
    events: TurnEvents,
    /// Whether the caller has had the events.
    are_given: bool,
    flow: Flow,
}

impl OutputStream {
    /// Takes new text, and the ids of the tokens that the model wrote since the last call. Text may
    /// come later than its ids, never earlier; tokens that are markers must be in it. Returns the
    /// events that came of it.
    ///
    /// # Errors
    /// The ids can't be aligned with the text; nothing was taken.
    pub fn push(
        &mut self,
        text: &str,
        ids: &[u32],
        decode: Option<Decode<'_>>,
    ) -> Result<&[TurnEvent], AlignError> {
        if self.aligner.is_plain(ids) {
            return Ok(self.step(&pieces(ids, text)));
        }
        let aligned = self.aligner.align(text, ids, decode)?;
        Ok(self.step(&aligned.pieces()))
    }

    /// Ends the turn, and returns its last events. `ended_by` is the token that ended it, if it was
    /// in no [`Self::push`].
    pub fn finish(&mut self, reason: FinishReason, ended_by: Option<u32>) -> (&[TurnEvent], TurnEnd) {
        let (rest, last) = self.aligner.finish();
        if !rest.is_empty() {
            self.step(&rest.pieces());
            self.are_given = false;
        }
        self.forget_given();
        let id = ended_by.or(last);
        let literal = id.and_then(|id| self.aligner.literal(id)).unwrap_or_default();
        let ended_by = id.map(|id| TokenText::new(Some(id), literal));
        let end = self.turn.finish(reason, ended_by, &mut self.events);
        self.are_given = true;
        (&self.events, end)
    }

    /// Whether the turn has ended, at a stop string, a call that is the last one allowed, or a
    /// fault: what follows is no part of it, and [`Self::finish`] is due.
    pub fn has_ended(&self) -> bool {
        self.flow == Flow::Stop
    }

    /// The turn, for its counts and its parser's fault.
    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    fn step(&mut self, pieces: &[TokenText<'_>]) -> &[TurnEvent] {
        self.forget_given();
        if self.turn.step(pieces, &mut self.events) == Flow::Stop {
            self.flow = Flow::Stop;
        }
        self.are_given = true;
        &self.events
    }

    fn forget_given(&mut self) {
        if self.are_given {
            self.events.clear();
        }
    }
}

impl fmt::Debug for OutputStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputStream").field("aligner", &self.aligner).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
