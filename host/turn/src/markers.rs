//! Finder of a parser's marker literals in the stream: no parser ever sees one cut in two.
//!
//! Invariant: text and markers come out in stream order and make up the stream's bytes exactly,
//! however the stream was cut into pieces. `driver` calls it, one [`TokenText`] per token. Work per
//! byte is bounded by the longest literal.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::event::TokenLogprobs;

/// Maximum length of a literal in bytes. Scanning costs at most this many steps per byte of text.
const LITERAL_BYTES: usize = 256;
/// Maximum number of literals of one parser.
const LITERALS: usize = 1024;

/// A token's piece of the stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenText<'a> {
    /// Token id; `None` for text that is no token of its own, or whose source has only text.
    pub id: Option<u32>,
    /// Text of the token. Empty while a multi-byte character is incomplete.
    pub text: &'a str,
    /// Log-probabilities of the token, if they are asked for.
    pub logprobs: Option<&'a Arc<TokenLogprobs>>,
}

impl<'a> TokenText<'a> {
    /// Creates a piece without log-probabilities.
    pub fn new(id: Option<u32>, text: &'a str) -> Self {
        Self { id, text, logprobs: None }
    }
}

/// Reason why a list of marker literals can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkerError {
    /// A literal is empty.
    Empty(usize),
    /// A literal is declared twice.
    Twice(usize),
    /// A literal is longer than any format needs.
    TooLong(usize),
    /// The list is longer than any format needs.
    TooMany(usize),
}

impl fmt::Display for MarkerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty(marker) => write!(f, "marker {marker} is empty"),
            Self::Twice(marker) => write!(f, "marker {marker} stands twice in the list"),
            Self::TooLong(marker) => write!(f, "marker {marker} has more than {LITERAL_BYTES} bytes"),
            Self::TooMany(markers) => {
                write!(f, "{markers} markers are declared, at most {LITERALS} are allowed")
            }
        }
    }
}

impl Error for MarkerError {}

/// Markers of one parser for one tokenizer, made once and shared by all streams.
#[derive(Debug)]
pub struct MarkerTable {
    literals: Box<[Box<str>]>,
    /// (token id, marker index) of the markers that are matched as one token, sorted by id.
    by_id: Box<[(u32, u32)]>,
    /// The other markers, matched in the text.
    trie: Trie,
}

impl MarkerTable {
    /// Creates a table for `literals`. `token_id` returns the id of the *added* token that is spelt
    /// exactly like a literal: such a literal is matched by id, and the same text in other tokens
    /// stays text. It must return `None` for ordinary vocabulary tokens, since other tokens can
    /// make up their text.
    ///
    /// A literal inside a longer one that is matched by text is matched by text too, so that the
    /// longest still wins.
    pub fn new(literals: &[String], token_id: impl Fn(&str) -> Option<u32>) -> Result<Self, MarkerError> {
        check(literals)?;
        let ids: Vec<Option<u32>> = literals.iter().map(|literal| token_id(literal)).collect();
        let in_text: Vec<&String> =
            literals.iter().zip(&ids).filter(|(_, id)| id.is_none()).map(|(literal, _)| literal).collect();
        let mut by_id = Vec::new();
        let mut trie = Trie::default();
        for (index, (literal, id)) in (0..).zip(literals.iter().zip(&ids)) {
            match id {
                Some(id) if !in_text.iter().any(|longer| longer.contains(literal)) => {
                    by_id.push((*id, index));
                }
                _ => trie.insert(literal, index),
            }
        }
        by_id.sort_unstable();
        let literals = literals.iter().map(|literal| literal.as_str().into()).collect();
        Ok(Self { literals, by_id: by_id.into(), trie })
    }

    /// Creates a table that matches every literal in the text, for sources without token ids.
    pub fn by_text(literals: &[String]) -> Result<Self, MarkerError> {
        Self::new(literals, |_| None)
    }

    /// All literals, each with the id of the token as which it is matched; `None` where it is
    /// matched in the text.
    pub fn entries(&self) -> impl Iterator<Item = (&str, Option<u32>)> {
        let id_of = |marker| self.by_id.iter().find(|(_, index)| *index == marker).map(|(id, _)| *id);
        (0..).zip(&self.literals).map(move |(index, literal)| (&**literal, id_of(index)))
    }

    /// Indices of the markers that are matched as tokens.
    pub fn tokens(&self) -> Vec<u32> {
        self.by_id.iter().map(|(_, index)| *index).collect()
    }

    /// Literal of marker `index`.
    fn literal(&self, index: u32) -> &str {
        &self.literals[index as usize]
    }

    /// Index of the marker that `piece` as a whole is, by its id or its spelling.
    pub(super) fn find(&self, piece: TokenText<'_>) -> Option<u32> {
        let spelt = || self.literals.iter().position(|literal| **literal == *piece.text);
        self.token(piece.id).or_else(|| spelt().and_then(|index| u32::try_from(index).ok()))
    }

    fn token(&self, id: Option<u32>) -> Option<u32> {
        let id = id?;
        let (first, last) = (self.by_id.first()?, self.by_id.last()?);
        if id < first.0 || id > last.0 {
            return None;
        }
        self.by_id.binary_search_by_key(&id, |entry| entry.0).ok().map(|at| self.by_id[at].1)
    }
}

fn check(literals: &[String]) -> Result<(), MarkerError> {
    if literals.len() > LITERALS {
        return Err(MarkerError::TooMany(literals.len()));
    }
    for (index, literal) in literals.iter().enumerate() {
        if literal.is_empty() {
            return Err(MarkerError::Empty(index));
        }
        if literal.len() > LITERAL_BYTES {
            return Err(MarkerError::TooLong(index));
        }
        if literals[..index].contains(literal) {
            return Err(MarkerError::Twice(index));
        }
    }
    Ok(())
}

/// Part of the stream, as [`Markers`] finds them in stream order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found<'a> {
    /// Text without any marker in it; never empty.
    Text(&'a str),
    /// A marker: its index and its literal.
    Marker(u32, &'a str),
}

/// Matcher of markers in one stream.
#[derive(Debug)]
pub(super) struct Markers {
    table: Arc<MarkerTable>,
    /// Text held back because it may yet become a literal; no longer than the longest literal.
    pending: String,
    /// Position in the trie for a literal that begins at the start of `pending`.
    walk: Walk,
    /// Number of bytes of the stream so far.
    taken: u64,
}

/// Position in the trie after following some bytes from one start.
#[derive(Debug, Clone, Copy, Default)]
struct Walk {
    node: usize,
    bytes: usize,
    /// Index and length of the longest literal matched so far.
    matched: Option<(u32, usize)>,
}

impl Markers {
    pub(super) fn new(table: Arc<MarkerTable>) -> Self {
        Self { table, pending: String::new(), walk: Walk::default(), taken: 0 }
    }

    pub(super) fn table(&self) -> &MarkerTable {
        &self.table
    }

    /// Number of bytes of the stream so far, including those held back.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Takes `piece` and returns true if it is text that can't belong to a marker, as most pieces
    /// are; else it is left to `push`.
    #[inline]
    pub(super) fn take_plain(&mut self, piece: TokenText<'_>) -> bool {
        let plain = self.pending.is_empty()
            && !piece.text.is_empty()
            && self.table.token(piece.id).is_none()
            && self.table.trie.next_start(piece.text.as_bytes()) == piece.text.len();
        self.taken += if plain { piece.text.len() as u64 } else { 0 };
        plain
    }

    /// Takes one piece. A token that is a marker counts as its literal's bytes, whatever text the
    /// detokenizer made of it.
    pub(super) fn push(&mut self, piece: TokenText<'_>, found: &mut impl FnMut(Found<'_>)) {
        let Some(index) = self.table.token(piece.id) else {
            return self.text(piece.text, found);
        };
        // The detokenizer may have put the remains of a broken character before the literal.
        let before = piece.text.strip_suffix(self.table.literal(index)).unwrap_or_default();
        self.text(before, found);
        self.marker(index, found);
    }

    /// Takes marker `index`, which the caller has recognised.
    pub(super) fn marker(&mut self, index: u32, found: &mut impl FnMut(Found<'_>)) {
        self.flush(found);
        let literal = self.table.literal(index);
        self.taken += literal.len() as u64;
        found(Found::Marker(index, literal));
    }

    /// Decides the text that is held back, as no more text follows it.
    pub(super) fn flush(&mut self, found: &mut impl FnMut(Found<'_>)) {
        let mut pending = std::mem::take(&mut self.pending);
        scan(&self.table.trie, &mut self.walk, &pending, true, found);
        pending.clear();
        self.pending = pending;
    }

    fn text(&mut self, text: &str, found: &mut impl FnMut(Found<'_>)) {
        self.taken += text.len() as u64;
        let trie = &self.table.trie;
        if self.pending.is_empty() {
            let settled = scan(trie, &mut self.walk, text, false, found);
            self.pending.push_str(&text[settled..]);
        } else {
            let mut pending = std::mem::take(&mut self.pending);
            pending.push_str(text);
            let settled = scan(trie, &mut self.walk, &pending, false, found);
            pending.drain(..settled);
            self.pending = pending;
        }
    }
}

/// Finds literals in `text`, the leftmost first, and of those the longest; `walk` has already gone
/// over its first bytes. Returns the number of bytes that are settled; the rest (nothing if `last`)
/// may yet become a literal.
fn scan(trie: &Trie, walk: &mut Walk, text: &str, last: bool, found: &mut impl FnMut(Found<'_>)) -> usize {
    let bytes = text.as_bytes();
    let (mut told, mut start) = (0, 0);
    loop {
        if walk.bytes == 0 {
            start += trie.next_start(&bytes[start..]);
        }
        let open = follow(trie, walk, &bytes[start..]);
        if start == bytes.len() || (open && !last) {
            if told < start {
                found(Found::Text(&text[told..start]));
            }
            return start;
        }
        if let Some((index, length)) = walk.matched {
            if told < start {
                found(Found::Text(&text[told..start]));
            }
            found(Found::Marker(index, &text[start..start + length]));
            start += length;
            told = start;
        } else {
            start += 1;
        }
        *walk = Walk::default();
    }
}

/// Follows the trie over `bytes` from where `walk` stands. Returns whether more bytes could lead
/// further.
fn follow(trie: &Trie, walk: &mut Walk, bytes: &[u8]) -> bool {
    while let Some(&byte) = bytes.get(walk.bytes) {
        let Some(node) = trie.step(walk.node, byte) else { return false };
        walk.node = node;
        walk.bytes += 1;
        if let Some(index) = trie.marker(node) {
            walk.matched = Some((index, walk.bytes));
        }
    }
    trie.has_children(walk.node)
}

/// Prefix tree over the bytes of the literals that are matched in text. Node 0 is the root.
#[derive(Debug)]
struct Trie {
    nodes: Vec<Node>,
    /// Whether a literal begins with this byte, for each byte.
    starts: [bool; 256],
}

#[derive(Debug, Default)]
struct Node {
    marker: Option<u32>,
    /// (byte, node), sorted by byte.
    edges: Vec<(u8, usize)>,
}

impl Default for Trie {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], starts: [false; 256] }
    }
}

impl Trie {
    /// Adds a literal, which isn't empty.
    fn insert(&mut self, literal: &str, index: u32) {
        let mut node = 0;
        for &byte in literal.as_bytes() {
            node = match self.nodes[node].edges.binary_search_by_key(&byte, |edge| edge.0) {
                Ok(at) => self.nodes[node].edges[at].1,
                Err(at) => {
                    let next = self.nodes.len();
                    self.nodes.push(Node::default());
                    self.nodes[node].edges.insert(at, (byte, next));
                    next
                }
            };
        }
        self.nodes[node].marker = Some(index);
        self.starts[usize::from(literal.as_bytes()[0])] = true;
    }

    /// Number of bytes before the first byte that may begin a literal; all of them if there is
    /// none.
    fn next_start(&self, bytes: &[u8]) -> usize {
        bytes.iter().position(|&byte| self.starts[usize::from(byte)]).unwrap_or(bytes.len())
    }

    fn step(&self, node: usize, byte: u8) -> Option<usize> {
        let edges = &self.nodes[node].edges;
        edges.binary_search_by_key(&byte, |edge| edge.0).ok().map(|at| edges[at].1)
    }

    /// Index of the marker whose literal ends at this node.
    fn marker(&self, node: usize) -> Option<u32> {
        self.nodes[node].marker
    }

    /// Whether a longer literal passes through this node.
    fn has_children(&self, node: usize) -> bool {
        !self.nodes[node].edges.is_empty()
    }
}
