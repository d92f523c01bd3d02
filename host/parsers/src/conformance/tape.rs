//! A stream that can be cut between any two atoms: characters and, where markers are tokens, whole
//! markers.
//!
//! Invariant: whatever the cuts, the pieces make up the same bytes in the same order; no cut falls
//! inside a character or inside a marker that is a token.

use std::ops::Range;

use parser_kit::case::{MarkerMode, Piece, by_marker};
use serde_json::{Value, json};

/// A stream of atoms. Cuts are indices of atoms in rising order, each above 0 and below
/// [`Tape::len`]; a cut lies before its atom.
#[derive(Debug, Clone)]
pub(super) struct Tape {
    text: String,
    atoms: Vec<Atom>,
    mode: MarkerMode,
    /// Whether some text looks like a marker although it is none. A group of atoms that mixes both
    /// can't be written as a case.
    look_alikes: bool,
}

/// A character, or a marker as a token.
#[derive(Debug, Clone, Copy)]
struct Atom {
    /// Offset of the atom's end in the text, in bytes.
    end: usize,
    marker: Option<u32>,
}

impl Tape {
    /// Makes the stream of these pieces, in which markers are found as `mode` says.
    pub(super) fn new<'a>(pieces: impl IntoIterator<Item = &'a Piece>, mode: MarkerMode) -> Self {
        let mut tape = Self { text: String::new(), atoms: Vec::new(), mode, look_alikes: false };
        for piece in pieces {
            tape.push(piece);
        }
        tape
    }

    /// This stream, with the check whether some of its text looks like one of these markers.
    pub(super) fn compared_with(mut self, markers: &[String]) -> Self {
        self.look_alikes =
            self.mode == MarkerMode::Id && self.case_pieces(0..self.len()) != by_marker(&self.text, markers);
        self
    }

    fn push(&mut self, piece: &Piece) {
        match piece {
            Piece::Marker(index, literal) => {
                self.text.push_str(literal);
                self.atoms.push(Atom { end: self.text.len(), marker: Some(*index) });
            }
            Piece::Text(text) => {
                for c in text.chars() {
                    self.text.push(c);
                    self.atoms.push(Atom { end: self.text.len(), marker: None });
                }
            }
        }
    }

    /// Pieces of the atoms in this range, with neighbouring characters joined into one text.
    pub(super) fn case_pieces(&self, atoms: Range<usize>) -> Vec<Piece> {
        let piece = |piece: turn::TokenText<'_>| match piece.id {
            Some(index) => Piece::Marker(index, piece.text.to_owned()),
            None => Piece::Text(piece.text.to_owned()),
        };
        self.pieces(atoms).into_iter().map(piece).collect()
    }

    /// The same stream with its markers as tokens or by their text; `None` where a look-alike would
    /// become a marker.
    pub(super) fn in_mode(&self, mode: MarkerMode, markers: &[String]) -> Option<Self> {
        if mode == self.mode {
            return Some(self.clone());
        }
        match mode {
            MarkerMode::Id => Some(Self::new(&by_marker(&self.text, markers), mode)),
            MarkerMode::Text if self.look_alikes => None,
            MarkerMode::Text => Some(Self::new([&Piece::Text(self.text.clone())], mode)),
        }
    }

    pub(super) fn mode(&self) -> MarkerMode {
        self.mode
    }

    /// Number of atoms.
    pub(super) fn len(&self) -> usize {
        self.atoms.len()
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Index of the marker that the last atom is, if it is one.
    pub(super) fn last_marker(&self) -> Option<u32> {
        self.atoms.last()?.marker
    }

    /// The stream of the first `atoms` atoms.
    pub(super) fn prefix(&self, atoms: usize) -> Self {
        let end = self.start(atoms);
        Self { text: self.text[..end].to_owned(), atoms: self.atoms[..atoms].to_vec(), ..*self }
    }

    /// The atoms as a turn takes them in one step: markers, and runs of characters.
    pub(super) fn pieces(&self, atoms: Range<usize>) -> Vec<turn::TokenText<'_>> {
        let mut pieces = Vec::new();
        let mut taken = self.start(atoms.start);
        for (at, atom) in self.atoms.iter().enumerate().take(atoms.end).skip(atoms.start) {
            let start = self.start(at);
            if atom.marker.is_none() {
                continue;
            }
            if taken < start {
                pieces.push(turn::TokenText::new(None, &self.text[taken..start]));
            }
            pieces.push(turn::TokenText::new(atom.marker, &self.text[start..atom.end]));
            taken = atom.end;
        }
        let end = self.start(atoms.end);
        if taken < end {
            pieces.push(turn::TokenText::new(None, &self.text[taken..end]));
        }
        pieces
    }

    /// Splits the stream at these cuts into groups of atoms.
    pub(super) fn groups(&self, cuts: &[usize]) -> Vec<Range<usize>> {
        let starts = [0].into_iter().chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([self.len()]);
        starts.zip(ends).map(|(start, end)| start..end).filter(|group| !group.is_empty()).collect()
    }

    /// Cuts after every `size` characters, and around each marker that is a token.
    pub(super) fn every(&self, size: usize) -> Vec<usize> {
        let mut cuts = Vec::new();
        let mut characters = 0;
        for (at, atom) in self.atoms.iter().enumerate() {
            let alone = atom.marker.is_some() || (at > 0 && self.atoms[at - 1].marker.is_some());
            if at > 0 && (alone || characters == size) {
                cuts.push(at);
                characters = 0;
            }
            characters += 1;
        }
        cuts
    }

    /// `cuts`, and cuts around each marker if the stream has look-alikes, so that no group mixes
    /// both.
    pub(super) fn avoid_mixed_groups(&self, mut cuts: Vec<usize>) -> Vec<usize> {
        if self.look_alikes {
            let beside =
                |at: &usize| self.atoms[*at].marker.is_some() || self.atoms[*at - 1].marker.is_some();
            cuts.extend((1..self.len()).filter(beside));
            cuts.sort_unstable();
            cuts.dedup();
        }
        cuts
    }

    /// The stream in the chunks that the cuts make, as `chunks` of a case.
    pub(super) fn chunks(&self, cuts: &[usize]) -> Value {
        let chunk = |atoms: Range<usize>| {
            let text = &self.text[self.start(atoms.start)..self.start(atoms.end)];
            let tokens = self.atoms[atoms].iter().any(|atom| atom.marker.is_some());
            if tokens { json!({ "text": text, "ids": [] }) } else { json!(text) }
        };
        self.groups(cuts).into_iter().map(chunk).collect()
    }

    /// Offset of an atom's start in the text, in bytes.
    fn start(&self, atom: usize) -> usize {
        if atom == 0 { 0 } else { self.atoms[atom - 1].end }
    }
}
