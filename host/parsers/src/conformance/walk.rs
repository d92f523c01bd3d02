//! Random walks through a grammar, as of a model with a mask: the grammar allows every token of a
//! walk.
//!
//! The tokenizer has one token per byte, and one per marker where markers are tokens. Beside random
//! tokens the walk tries texts that would be harmful where they aren't intended: markers, closing
//! brackets, calls.

use std::sync::Arc;

use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{
    ApproximateTokEnv, InferenceCapabilities, SimpleVob, TokEnv, TokRxInfo, TokTrie, TokenId,
};
use llguidance::{Matcher, ParserFactory};
use seeded::fnv1a_with;

/// Part of a walk's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WalkPiece {
    /// Text.
    Text(String),
    /// The marker of this index, as a token.
    Marker(u32),
}

/// Random number generator of walks (xorshift): the recorded masks are those of its walks.
#[derive(Debug)]
struct Random(u64);

impl Random {
    /// The generator of this seed.
    fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d);
        for _ in 0..16 {
            random.below(2);
        }
        random
    }

    /// A number below `bound`, which must be above 0.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }
}

/// Compiled grammar and the state of a walk through it.
#[derive(Clone)]
pub struct Walker {
    matcher: Matcher,
    literals: Vec<String>,
    /// Whether each marker is a token.
    tokens: Vec<bool>,
    /// Markup of turns that the walker knows: a marker, and what follows it up to the next one.
    markup: Vec<Vec<TokenId>>,
}

/// A step of a walk.
#[derive(Debug)]
pub struct WalkStep {
    /// Tokens that are allowed before it.
    pub mask: SimpleVob,
    /// Whether the turn may end before it.
    pub may_end: bool,
}

impl WalkStep {
    /// Hash (FNV-1a) of what is behind `hash`, and this step.
    pub fn hashed(&self, hash: u64) -> u64 {
        let words = self.mask.as_slice().iter().copied().chain([u32::from(self.may_end)]);
        words.fold(hash, |hash, word| fnv1a_with(hash, word.into()))
    }
}

/// Id of the first marker's token.
pub const FIRST_MARKER: u32 = 256;
const QUOTE: TokenId = b'"' as TokenId;
/// Number of digits after which a number ends if it may.
const DIGITS: usize = 12;
/// Number of tokens after which a walk tries to reach an end.
const SOON: usize = 250;
/// Number of tokens after which a walk fails, as it found no end.
const LIMIT: usize = 20_000;
/// Texts that a walk tries at any place.
const BAIT: [&str; 14] = [
    "\"",
    "}",
    "]",
    "\"}",
    "\\\"",
    "\n",
    "<",
    "<<",
    "é",
    "😀",
    ", ",
    "{\"name\": \"evil\", \"arguments\": {}}",
    "{}",
    "1",
];

impl Walker {
    /// A walker at the beginning of a whole grammar. `literals` are those of the markers, `tokens`
    /// says of each whether it is a token.
    ///
    /// # Errors
    /// The grammar can't be compiled.
    pub fn new(grammar: &str, literals: &[String], tokens: &[bool]) -> Result<Self, String> {
        let matcher = matcher(TopLevelGrammar::from_lark(grammar.to_owned()), literals.len())?;
        Ok(Self { matcher, literals: literals.to_vec(), tokens: tokens.to_vec(), markup: Vec::new() })
    }

    /// Adds the markup of a turn to what walks try: a format's own markup is what does harm inside
    /// a value.
    pub fn learn(&mut self, turn: &[WalkPiece]) {
        let mut tokens: Vec<TokenId> = Vec::new();
        for piece in turn {
            match piece {
                WalkPiece::Marker(index) => tokens.push(FIRST_MARKER + index),
                WalkPiece::Text(text) => tokens.extend(bytes(text)),
            }
        }
        let spelt: Vec<_> = self.literals.iter().map(|literal| bytes(literal)).collect();
        let begins = |at: &usize| {
            tokens[*at] >= FIRST_MARKER || spelt.iter().any(|literal| tokens[*at..].starts_with(literal))
        };
        let marks: Vec<usize> = (0..tokens.len()).filter(begins).collect();
        let ends = marks.iter().skip(1).copied().chain([tokens.len()]);
        for (begin, end) in marks.iter().copied().zip(ends) {
            let part = &tokens[begin..end];
            if !self.markup.iter().any(|known| known == part) {
                self.markup.push(part.to_vec());
            }
        }
    }

    /// The walker behind a generation prompt; `None` if the grammar refuses that.
    pub fn opened(&self, prompt: &str) -> Option<Self> {
        let mut opened = self.clone();
        let tokens = self.tokens_of(prompt);
        let taken = opened.matcher.try_consume_tokens(&tokens).ok()?;
        (taken == tokens.len()).then_some(opened)
    }

    /// Pieces of these parts in this vocabulary, if they are a whole turn; `None` if the grammar
    /// refuses them. In parts that are markup, markers are recognised.
    pub fn accepts(&self, parts: &[(bool, String)]) -> Option<Vec<WalkPiece>> {
        let mut matcher = self.matcher.clone();
        let tokens_of =
            |(is_markup, text): &(bool, String)| if *is_markup { self.tokens_of(text) } else { bytes(text) };
        let tokens: Vec<TokenId> = parts.iter().flat_map(tokens_of).collect();
        let taken = matcher.try_consume_tokens(&tokens).expect("the grammar is sound");
        let is_whole = taken == tokens.len()
            && (matcher.is_stopped() || matcher.is_accepting().expect("the grammar is sound"));
        is_whole.then(|| pieces(&tokens))
    }

    /// Walks until the grammar may end.
    ///
    /// # Errors
    /// The walk found no end, or a place where nothing is allowed; the message has the text so far.
    pub fn walk(&mut self, seed: u64) -> Result<Vec<WalkPiece>, String> {
        self.walk_along(seed, |_| Ok(()))
    }

    /// Walks until the grammar may end, and keeps the mask before each step.
    ///
    /// # Errors
    /// Those of [`Self::walk`].
    pub fn steps(&mut self, seed: u64) -> Result<Vec<WalkStep>, String> {
        let mut steps: Vec<WalkStep> = Vec::new();
        self.walk_along(seed, |matcher| {
            let may_end = matcher.is_accepting().map_err(unsound)?;
            steps.push(WalkStep { mask: matcher.compute_mask().map_err(unsound)?, may_end });
            Ok(())
        })?;
        Ok(steps)
    }

    /// Walks until the grammar may end, and calls `each` before each step.
    fn walk_along(
        &mut self,
        seed: u64,
        mut each: impl FnMut(&mut Matcher) -> Result<(), String>,
    ) -> Result<Vec<WalkPiece>, String> {
        let mut random = Random::new(seed);
        let mut taken = Vec::new();
        while !self.matcher.is_stopped() {
            let hurry = taken.len() > SOON;
            if self.matcher.is_accepting().map_err(unsound)? && (hurry || random.below(12) == 0) {
                break;
            }
            if taken.len() > LIMIT {
                return Err(format!("no end in sight: {:?}", pieces(&taken)));
            }
            let tokens = self
                .step(hurry, &taken, &mut random)
                .map_err(|error| format!("{error}: {:?}", pieces(&taken)))?;
            each(&mut self.matcher)?;
            self.matcher.consume_tokens(&tokens).map_err(unsound)?;
            taken.extend(tokens);
        }
        Ok(pieces(&taken))
    }

    fn step(&mut self, hurry: bool, taken: &[TokenId], random: &mut Random) -> Result<Vec<TokenId>, String> {
        if !self.markup.is_empty() && !hurry && random.below(8) == 0 {
            let known = &self.markup[random.below(self.markup.len())];
            let allowed = self.matcher.validate_tokens(known).map_err(|error| error.to_string())?;
            if allowed > 0 {
                return Ok(known[..allowed].to_vec());
            }
        }
        if hurry || random.below(4) == 0 {
            let first = random.below(BAIT.len() + 2 * self.literals.len());
            let bait = self.bait(first);
            if self.matcher.validate_tokens(&bait).map_err(|error| error.to_string())? == bait.len() {
                return Ok(bait);
            }
        }
        let mask = self.matcher.compute_mask().map_err(|error| error.to_string())?;
        let end = marker(self.literals.len());
        // Markers end blocks that may hold any number of calls; letters hardly ever do.
        let markers: Vec<TokenId> = mask.iter().filter(|token| (marker(0)..end).contains(token)).collect();
        if hurry && !markers.is_empty() && random.below(2) == 0 {
            return Ok(vec![markers[random.below(markers.len())]]);
        }
        // No exponents, and few digits where something else is allowed: JSON numbers may be larger
        // than validator and parsers read.
        let digits = taken.iter().rev().take_while(|token| (48..58).contains(*token)).count();
        let numeric = |token: &TokenId| {
            (digits > 0 && matches!(token, 69 | 101)) || (digits > DIGITS && (48..58).contains(token))
        };
        let all: Vec<TokenId> = mask.iter().filter(|token| *token < end).collect();
        let short: Vec<TokenId> = all.iter().copied().filter(|token| !numeric(token)).collect();
        let allowed = if short.is_empty() { all } else { short };
        // Random text hardly ever ends a string whose pattern requires certain characters at the
        // end.
        if hurry && allowed.contains(&QUOTE) && random.below(2) == 0 {
            return Ok(vec![QUOTE]);
        }
        if allowed.is_empty() {
            return Err("a dead end".to_owned());
        }
        // Letters are taken more often than other bytes, or most strings would consist of
        // incomplete characters.
        let letters: Vec<TokenId> =
            allowed.iter().copied().filter(|token| (32..127).contains(token)).collect();
        let among = if letters.is_empty() || random.below(8) == 0 { &allowed } else { &letters };
        Ok(vec![among[random.below(among.len())]])
    }

    fn bait(&self, choice: usize) -> Vec<TokenId> {
        let markers = self.literals.len();
        match choice.checked_sub(BAIT.len()) {
            None => bytes(BAIT[choice]),
            Some(index) if index < markers && self.tokens[index] => vec![marker(index)],
            // The spelling of a stop that is a token is text; only hosts that find it by its text
            // would take it for the stop.
            Some(index) if self.tokens.iter().all(|token| *token) => bytes(&self.literals[index % markers]),
            Some(index) if self.tokens[index % markers] => bytes("<"),
            Some(index) => self.tokens_of(&self.literals[index % markers]),
        }
    }

    /// Tokens of a text whose markers are one token each where the vocabulary has them.
    fn tokens_of(&self, text: &str) -> Vec<TokenId> {
        let literals = self.literals.iter().zip(ids(&self.tokens));
        let tokens: Vec<_> = literals.filter_map(|(literal, id)| Some((literal.as_str(), id?))).collect();
        let pieces = grammar::token_pieces(text, &tokens).into_iter();
        pieces.flat_map(|(id, piece)| id.map_or_else(|| bytes(piece), |id| vec![id])).collect()
    }
}

/// The ids of markers, of which some are tokens.
pub fn ids(tokens: &[bool]) -> impl Iterator<Item = Option<TokenId>> {
    (FIRST_MARKER..).zip(tokens).map(|(id, token)| token.then_some(id))
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` gives it")]
fn unsound(error: anyhow::Error) -> String {
    error.to_string()
}

/// Compiles a grammar over a vocabulary with `markers` markers.
///
/// # Errors
/// What llguidance says against it.
pub fn matcher(grammar: TopLevelGrammar, markers: usize) -> Result<Matcher, String> {
    let environment = environment(markers);
    let mut factory = ParserFactory::new(&environment, InferenceCapabilities::default(), &[])
        .map_err(|error| error.to_string())?;
    factory.quiet();
    let matcher = Matcher::new(factory.create_parser(grammar));
    match matcher.get_error() {
        Some(error) => Err(error),
        None => Ok(matcher),
    }
}

/// Joins bytes to text; each marker is a piece of its own.
fn pieces(tokens: &[TokenId]) -> Vec<WalkPiece> {
    let mut pieces = Vec::new();
    for run in tokens.chunk_by(|one, other| *one < FIRST_MARKER && *other < FIRST_MARKER) {
        let bytes: Vec<u8> = run.iter().filter_map(|token| u8::try_from(*token).ok()).collect();
        pieces.push(if bytes.is_empty() {
            WalkPiece::Marker(run[0] - FIRST_MARKER)
        } else {
            WalkPiece::Text(String::from_utf8(bytes).expect("grammars allow whole characters only"))
        });
    }
    pieces
}

fn marker(index: usize) -> TokenId {
    FIRST_MARKER + u32::try_from(index).expect("few")
}

/// The tokens of a text without markers.
pub fn bytes(text: &str) -> Vec<TokenId> {
    text.bytes().map(TokenId::from).collect()
}

fn environment(markers: usize) -> TokEnv {
    let mut words: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    words.extend((0..markers).map(|index| format!("<marker {index}>").into_bytes()).map(special));
    words.push(special(b"<end>".to_vec()));
    let size = u32::try_from(words.len()).expect("few");
    Arc::new(ApproximateTokEnv::new(TokTrie::from(&TokRxInfo::new(size, size - 1), &words)))
}

fn special(mut name: Vec<u8>) -> Vec<u8> {
    name.insert(0, TokTrie::SPECIAL_TOKEN_MARKER);
    name
}
