//! One turn, played to a parser step by step.

use contract::{Fault, FinishReason, Request, Step, StreamParser};
use parser_sdk::{Parser, Stream};
use turn::{
    Binding, Flow, ItemHead, TokenText, Turn, TurnEvent, TurnEvents, TurnSettings, counted_call_ids, fold,
};

use super::Item;
use super::case::{CaseEnd, MarkerMode, Piece, by_marker};

/// A parser without a sandbox.
#[derive(Debug)]
struct Native<P>(Stream<P>);

impl<P: Parser> StreamParser for Native<P> {
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        Ok(self.0.text(chunk))
    }

    fn marker(&mut self, index: u32) -> Result<Step, Fault> {
        Ok(self.0.marker(index))
    }

    fn finish(&mut self, reason: FinishReason) -> Result<Step, Fault> {
        Ok(self.0.finish(reason))
    }
}

/// A turn of a parser that is fed by a test. It panics once the parser has broken the contract.
#[derive(Debug)]
pub struct Player<P> {
    turn: Turn<Native<P>>,
    markers: Vec<String>,
    mode: MarkerMode,
    events: TurnEvents,
    flow: Flow,
}

impl<P: Parser> Player<P> {
    /// Starts a parser whose markers are found in the text.
    ///
    /// # Panics
    /// The parser, or its markers, can't be used.
    pub fn start(request: &Request) -> Self {
        Self::with(request, MarkerMode::Text, false)
    }

    /// Starts a parser whose markers come as tokens of their own.
    ///
    /// # Panics
    /// Those of [`Self::start`].
    pub fn by_tokens(request: &Request) -> Self {
        Self::with(request, MarkerMode::Id, false)
    }

    /// Starts a parser. With `asks_always` it is asked about every chunk, also where it said
    /// `until-marker` or `until-byte`: the items must be the same. It can't be asked about JSON
    /// that it handed over by `until-json`.
    pub(super) fn with(request: &Request, mode: MarkerMode, asks_always: bool) -> Self {
        let descriptor = P::describe(&request.options).expect("describe");
        let index = |literal: &str| (0..).zip(&descriptor.markers).find(|(_, marker)| *marker == literal);
        let token_id = |literal: &str| (mode == MarkerMode::Id).then(|| Some(index(literal)?.0))?;
        let binding = Binding::new(&descriptor, token_id).unwrap_or_else(|error| panic!("{error}"));
        let mut settings = TurnSettings::of(request, counted_call_ids());
        settings.asks_always = asks_always;
        let parser = Native(Stream::start(request).expect("start"));
        Self {
            turn: Turn::new(&binding, parser, settings),
            markers: descriptor.markers,
            mode,
            events: TurnEvents::default(),
            flow: Flow::Continue,
        }
    }

    /// Replays the generation prompt; to be called first.
    pub fn prompt(&mut self, prompt: &str) {
        let pieces = match self.mode {
            MarkerMode::Text => vec![Piece::Text(prompt.to_owned())],
            MarkerMode::Id => by_marker(prompt, &self.markers),
        };
        let pieces: Vec<_> = pieces.iter().map(token_text).collect();
        self.flow = self.turn.replay(&pieces, &mut self.events);
        self.check();
    }

    /// Feeds what the model writes next, cut anywhere. Where markers come as tokens, one that this
    /// text spells is text.
    pub fn feed(&mut self, chunk: &str) {
        self.step(TokenText::new(None, chunk));
    }

    /// Feeds a marker that comes as a token of its own.
    ///
    /// # Panics
    /// There is no such marker.
    pub fn marker(&mut self, index: u32) {
        let literal = self.markers[index as usize].clone();
        self.step(TokenText::new(Some(index), &literal));
    }

    fn step(&mut self, piece: TokenText<'_>) {
        if self.flow == Flow::Continue {
            self.flow = self.turn.step(&[piece], &mut self.events);
            self.check();
        }
    }

    /// Arguments of the calls so far, as a client has seen them.
    pub(super) fn shown(&self) -> Vec<String> {
        let mut calls: Vec<String> = Vec::new();
        let mut in_call = false;
        for event in self.events.iter() {
            match event {
                TurnEvent::Open(head) => {
                    in_call = matches!(head, ItemHead::ToolCall { payload: contract::Payload::Json, .. });
                    calls.extend(in_call.then(String::new));
                }
                TurnEvent::Text(text) if in_call => calls.last_mut().expect("it is open").push_str(text),
                _ => {}
            }
        }
        calls
    }

    /// Ends the turn, and returns its items.
    ///
    /// # Panics
    /// The parser broke the contract, or a byte was lost.
    pub fn finish(self, reason: FinishReason) -> Vec<Item> {
        self.end(reason).0
    }

    /// Ends the turn, and returns its items and how its response ends.
    ///
    /// # Panics
    /// Those of [`Self::finish`].
    pub fn end(mut self, reason: FinishReason) -> (Vec<Item>, CaseEnd) {
        let reason = if self.flow == Flow::Stop { FinishReason::Stop } else { reason };
        let end = self.turn.finish(reason, None, &mut self.events);
        self.check();
        assert!(self.turn.bytes().are_balanced(), "every byte is routed once: {:?}", self.turn.bytes());
        let items = fold(self.events).unwrap_or_else(|error| panic!("{error}"));
        (items.into_iter().map(Item::from).collect(), CaseEnd::of(&end))
    }

    /// Fails the test where a server would call a fault.
    fn check(&self) {
        if let Some(fault) = self.turn.fault() {
            panic!("{}", fault.in_full());
        }
    }
}

/// A piece of a case as a turn takes it.
pub(super) fn token_text(piece: &Piece) -> TokenText<'_> {
    match piece {
        Piece::Text(text) => TokenText::new(None, text),
        Piece::Marker(index, literal) => TokenText::new(Some(*index), literal),
    }
}

/// Plays a whole turn: the replayed prompt, then the model's text in these chunks.
pub fn play<'a, P: Parser>(
    request: &Request,
    prompt: &str,
    chunks: impl IntoIterator<Item = &'a str>,
    reason: FinishReason,
) -> Vec<Item> {
    let mut player = Player::<P>::start(request);
    player.prompt(prompt);
    for chunk in chunks {
        player.feed(chunk);
    }
    player.finish(reason)
}
