//! One turn cut in many ways: the oracle of unit tests, property tests and fuzz targets. Any cut
//! must give the same items.

use std::fmt::Write as _;

use super::case::{CaseEnd, MarkerMode, Piece, by_marker};
use super::nothing_lost::{Changed, CompletedTurn, as_text, declare_broken_tool};
use super::{Item, LostQuote, Player, lost_quotes};
use contract::{FinishReason, Request};
use parser_sdk::Parser;

/// A turn, without the way it is cut into chunks.
#[derive(Debug, Clone)]
pub struct Script<'a> {
    /// What the parser is told of the request.
    pub request: &'a Request,
    /// The generation prompt.
    pub prompt: &'a str,
    /// What the model writes.
    pub output: Vec<Piece>,
    /// How markers are found in the output.
    pub markers: MarkerMode,
    /// Why the turn ends.
    pub reason: FinishReason,
}

/// The items of `output`, which every way of cutting it must give: whole, in pieces of `sizes`
/// characters (over and over), of 1, 3 and 7, with markers found as text or as tokens, the parser
/// asked for every piece or only where it wants to be.
///
/// # Panics
/// Two ways differ, or the parser breaks the contract.
pub fn agree<P: Parser>(
    request: &Request,
    prompt: &str,
    output: &str,
    sizes: &[usize],
    reason: FinishReason,
) -> Vec<Item> {
    let output = vec![Piece::Text(output.to_owned())];
    let script = Script { request, prompt, output, markers: MarkerMode::Text, reason };
    let whole = script.play::<P>(&[usize::MAX], false);
    script
        .check::<P>(sizes, &whole)
        .unwrap_or_else(|difference| panic!("{difference}\nof {:?}", script.output));
    whole
}

impl Script<'_> {
    /// The turn's items, with texts cut in pieces of `sizes` characters, over and over; pieces of
    /// the output are not joined.
    pub fn play<P: Parser>(&self, sizes: &[usize], always: bool) -> Vec<Item> {
        let mut player = Player::<P>::with(self.request, self.markers, always);
        self.feed(&mut player, sizes);
        player.finish(self.reason)
    }

    /// The arguments that a client has seen before the turn ends, and the turn's items.
    pub(super) fn play_shown<P: Parser>(&self) -> (Vec<String>, Vec<Item>) {
        let mut player = Player::<P>::with(self.request, self.markers, false);
        self.feed(&mut player, &[usize::MAX]);
        (player.shown(), player.finish(self.reason))
    }

    /// How the response ends.
    pub(super) fn end<P: Parser>(&self) -> CaseEnd {
        self.played::<P>(usize::MAX, false).1
    }

    /// All that the model writes.
    pub(super) fn text(&self) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Marker(_, text) | Piece::Text(text) => text.clone(),
        };
        self.output.iter().map(text).collect()
    }

    fn feed<P: Parser>(&self, player: &mut Player<P>, sizes: &[usize]) {
        player.prompt(self.prompt);
        for piece in &self.output {
            match piece {
                Piece::Marker(index, _) => player.marker(*index),
                Piece::Text(text) => cut(text, sizes).into_iter().for_each(|text| player.feed(text)),
            }
        }
    }

    /// Checks that every way of cutting the turn gives `expected`.
    pub(super) fn check<P: Parser>(&self, sizes: &[usize], expected: &[Item]) -> Result<(), String> {
        let joined = self.joined();
        for sizes in [sizes, &[usize::MAX], &[1], &[3], &[7]] {
            for always in [false, true] {
                compare(&format!("in pieces of {sizes:?}"), &joined.play::<P>(sizes, always), expected)?;
            }
        }
        if self.markers == MarkerMode::Text {
            let tokens = joined.by_tokens::<P>();
            for sizes in [&[1][..], &[5], &[usize::MAX]] {
                let how = format!("markers as tokens, text in pieces of {sizes:?}");
                compare(&how, &tokens.play::<P>(sizes, true), expected)?;
            }
        }
        Ok(())
    }

    /// Checks that each call that loses a quote is broken off by the marker behind it
    /// ([`lost_quotes`]).
    pub(super) fn check_lost_quotes<P: Parser>(&self) -> Result<(), String> {
        let joined = self.joined();
        let tokens = if self.markers == MarkerMode::Text { joined.by_tokens::<P>() } else { joined };
        let mut request = self.request.clone();
        let markers = P::describe(&request.options).expect("describe").markers;
        request.token_markers = (0..).zip(&markers).map(|(index, _)| index).collect();
        let tokens = Script { request: &request, ..tokens };
        let items = tokens.play::<P>(&[usize::MAX], false);
        for LostQuote { output, expected } in lost_quotes(&tokens.output, &items) {
            let script = Script { output, ..tokens.clone() };
            for (sizes, always) in [(usize::MAX, false), (1, true)] {
                let how = format!("broken off inside a string: {:?}", script.text());
                compare(&how, &script.play::<P>(&[sizes], always), &expected)?;
            }
        }
        Ok(())
    }

    /// Checks that nothing of a completed turn is lost where its stream is changed
    /// ([`super::nothing_lost`]), with markers as tokens and in the text.
    pub(super) fn check_nothing_lost<P: Parser>(&self, seed: u64) -> Result<(), String> {
        let joined = self.joined();
        let tokens = if self.markers == MarkerMode::Text { joined.by_tokens::<P>() } else { joined.clone() };
        let is_plain = joined.markers == MarkerMode::Text || joined.has_no_look_alike::<P>();
        let modes = [MarkerMode::Id].into_iter().chain(is_plain.then_some(MarkerMode::Text));
        modes.into_iter().try_for_each(|mode| tokens.check_changes::<P>(mode, seed))
    }

    /// Checks the changes of this turn, whose markers are tokens, with markers in this mode.
    fn check_changes<P: Parser>(&self, mode: MarkerMode, seed: u64) -> Result<(), String> {
        let descriptor = P::describe(&self.request.options).expect("describe");
        let mut request = self.request.clone();
        if mode == MarkerMode::Id {
            request.token_markers = (0..).zip(&descriptor.markers).map(|(index, _)| index).collect();
        }
        declare_broken_tool(&mut request);
        let script = |output: &[Piece]| {
            let output = if mode == MarkerMode::Id { output.to_vec() } else { as_text(output) };
            Script { request: &request, output, markers: mode, ..self.clone() }
        };
        let (items, end) = script(&self.output).played::<P>(usize::MAX, false);
        if end != CaseEnd::Completed {
            return Ok(());
        }
        let recorded = CompletedTurn {
            markers: &descriptor.markers,
            stops: &descriptor.stops,
            reasoning_end: descriptor.reasoning_end.as_deref(),
            tools: &self.request.tools,
            output: &self.output,
            items: &items,
        };
        for Changed { what, output, must } in recorded.changes(seed) {
            let script = script(&output);
            for (size, always) in [(usize::MAX, false), (1, true)] {
                let (items, end) = script.played::<P>(size, always);
                must.check(&items, end).map_err(|lost| {
                    format!("{what}, markers {mode:?}: {lost}\n    of {:?}", script.text())
                })?;
            }
        }
        Ok(())
    }

    /// The turn's items and how its response ends, with texts in pieces of `size` characters.
    fn played<P: Parser>(&self, size: usize, always: bool) -> (Vec<Item>, CaseEnd) {
        let mut player = Player::<P>::with(self.request, self.markers, always);
        self.feed(&mut player, &[size]);
        player.end(self.reason)
    }

    /// Whether no text of a turn whose markers are tokens spells one.
    fn has_no_look_alike<P: Parser>(&self) -> bool {
        let markers = P::describe(&self.request.options).expect("describe").markers;
        by_marker(&self.text(), &markers) == self.output
    }

    /// The turn with neighbouring texts made one.
    fn joined(&self) -> Self {
        let mut output: Vec<Piece> = Vec::new();
        for piece in &self.output {
            match (output.last_mut(), piece) {
                (Some(Piece::Text(text)), Piece::Text(more)) => text.push_str(more),
                (_, piece) => output.push(piece.clone()),
            }
        }
        Self { output, ..self.clone() }
    }

    /// The turn with every marker that its text spells made a token.
    fn by_tokens<P: Parser>(&self) -> Self {
        let markers = P::describe(&self.request.options).expect("describe").markers;
        let found = |piece: &Piece| match piece {
            Piece::Text(text) => by_marker(text, &markers),
            Piece::Marker(..) => vec![piece.clone()],
        };
        Self { output: self.output.iter().flat_map(found).collect(), markers: MarkerMode::Id, ..self.clone() }
    }
}

/// Splits into pieces of these many characters, over and over.
pub fn cut<'a>(text: &'a str, sizes: &[usize]) -> Vec<&'a str> {
    let mut sizes = sizes.iter().copied().cycle();
    let (mut rest, mut pieces) = (text, Vec::new());
    while !rest.is_empty() {
        let size = sizes.next().unwrap_or(1).max(1);
        let at = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (piece, tail) = rest.split_at(at);
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// Compares items; the error shows both lists.
pub(super) fn compare(how: &str, got: &[Item], expected: &[Item]) -> Result<(), String> {
    if got == expected {
        return Ok(());
    }
    let lines = |items: &[Item]| {
        items.iter().fold(String::new(), |mut lines, item| {
            let _ = write!(lines, "\n    {item:?}");
            lines
        })
    };
    Err(format!("{how}\n  got:{}\n  expected:{}", lines(got), lines(expected)))
}
