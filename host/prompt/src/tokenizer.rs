//! Tokenizer of a model, read from its `tokenizer.json` (or `tiktoken.model`). It encodes in two
//! ways: with the added tokens (raw prompts and model output), or without any (text of requests).
//!
//! Invariant: `encode_text` and the text segments of a prompt never yield the id of an added token,
//! even where the model's own vocabulary spells one. The exceptions are white-space runs and the
//! unknown token, which control nothing, and a token of a single character that the vocabulary
//! spells. A panic of the library is an error here, since files may make it panic. Called by
//! `render`, `detokenizer`, raw prompts, masks, and replay and remote engines.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use engine::ModelFiles;
use tokenizers::ModelWrapper;
use tokenizers::tokenizer::{
    Encoding, Model, NormalizedString, Normalizer, OffsetType, PreTokenizedString, PreTokenizer, Token,
    normalizer::Range,
};

use super::added::{AddedToken, Split, WhitespaceTokens};
use super::files::{CONFIG_FILE, ChatFilesError, read_json, read_text};
use super::segments::Segment;
use super::tiktoken;
use super::token_bytes::{Alphabet, Spelling, TokenBytes};
use super::tokenizer_check::{PROBE_GROWTH, TextSteps, probe, shrinkage};
use system::panics::{Panicked, caught};

/// Error for text that the tokenizer can't encode: the vocabulary lacks a character and has no
/// token for unknown ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the tokenizer can't encode this text: {0}")]
pub struct TokenizeError(pub(super) String);

/// Tokenizer of a model.
#[derive(Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    added: HashMap<u32, AddedToken>,
    /// Ids of the special tokens among them, sorted: each token of an output is looked for here.
    special: Box<[u32]>,
    /// Finder of added tokens that are white space only; `None` if the model has none.
    whitespace: Option<WhitespaceTokens>,
    vocab_size: usize,
    /// How the vocabulary spells bytes; `None` if in no way that is known.
    alphabet: Option<Alphabet>,
    /// Bytes of every token, computed at the first use; `None` inside without an alphabet.
    bytes: OnceLock<Option<Arc<TokenBytes>>>,
    /// Most bytes of text that one token stands for, computed at the first use; `None` inside where
    /// that isn't known.
    longest: OnceLock<Option<usize>>,
}

const FILE: &str = "tokenizer.json";
const RANKS_FILE: &str = "tiktoken.model";
/// Files of which a model has one, the first of those that are there.
pub const TOKENIZER_FILES: [&str; 2] = [FILE, RANKS_FILE];
/// Maximum number of ids, since tables are as long as the highest id. Published vocabularies have
/// less than 2^19.
const MAX_VOCAB: usize = 1 << 22;

impl Tokenizer {
    /// Reads `tokenizer.json`, or `tiktoken.model` if there is no `tokenizer.json`.
    pub fn load(files: &ModelFiles) -> Result<Self, ChatFilesError> {
        let broken = |name: &'static str| {
            move |reason: String| ChatFilesError::new(files, name, reason, "fetch the file again")
        };
        if let Some(json) = read_text(files, FILE)? {
            return Self::from_json(json.as_bytes()).map_err(broken(FILE));
        }
        let Some(ranks) = read_text(files, RANKS_FILE)? else {
            let remedy = "save the tokenizer in Hugging Face's fast format";
            return Err(ChatFilesError::new(files, FILE, "not there", remedy));
        };
        let config = read_json(files, CONFIG_FILE)?.unwrap_or_default();
        let json = tiktoken::tokenizer_json(&ranks, &config).map_err(broken(RANKS_FILE))?;
        Self::from_json(&json).map_err(broken(RANKS_FILE))
    }

    /// Makes a tokenizer from the bytes of a `tokenizer.json`. The error is a reason.
    pub fn from_json(json: &[u8]) -> Result<Self, String> {
        let mut inner = parse(json)?;
        inner.with_truncation(None).map_err(|error| one_line(&error))?;
        inner.with_padding(None);
        let added: HashMap<u32, AddedToken> = inner
            .get_added_tokens_decoder()
            .into_iter()
            .map(|(id, token)| (id, AddedToken::new(id, token)))
            .collect();
        let special = added.values().filter(|token| token.special).map(|token| token.id);
        let mut special: Box<[u32]> = special.collect();
        special.sort_unstable();
        let highest = inner.get_vocab(true).into_values().max();
        let vocab_size = highest.map_or(0, |id| id as usize + 1);
        if vocab_size > MAX_VOCAB {
            return Err(format!("token ids up to {}, more than {MAX_VOCAB}", vocab_size - 1));
        }
        let tokenizer = Self {
            whitespace: WhitespaceTokens::new(&added)?,
            alphabet: inner.get_decoder().and_then(Alphabet::of),
            inner,
            added,
            special,
            vocab_size,
            bytes: OnceLock::new(),
            longest: OnceLock::new(),
        };
        probe(|text| tokenizer.probe_with(text)).map(|()| tokenizer)
    }

    /// Checks that a model whose embedding has so many rows has one for each token that a text may
    /// become, and for those that the tokenizer adds to it. Other added tokens may be beyond them:
    /// text models keep those of images from larger siblings (Gemma 3 1B), and a raw prompt that
    /// spells one is refused by itself. The error is a reason.
    pub fn check_rows(&self, rows: usize) -> Result<(), String> {
        let of_text = self.inner.get_vocab(false).into_values().filter(|id| !self.added.contains_key(id));
        let adds = self.encode_raw("", true).map_err(|error| error.to_string())?;
        match of_text.chain(adds).max() {
            Some(id) if id as usize >= rows => {
                Err(format!("it has token {id}, and the model's embedding has {rows} rows (vocab_size)"))
            }
            _ => Ok(()),
        }
    }

    /// Encodes text without any added token, so that text of a request never becomes a control
    /// token.
    pub fn encode_text(&self, text: &str) -> Result<Vec<u32>, TokenizeError> {
        self.encode_segments(&[Segment::Text(text.to_owned())])
    }

    /// Encodes text that a model wrote: added tokens are recognised by their literals.
    pub fn encode_with_added(&self, text: &str) -> Result<Vec<u32>, TokenizeError> {
        self.encode_raw(text, false)
    }

    /// Encodes a whole prompt as its author wrote it: added tokens are recognised, and with
    /// `special` the tokenizer adds its tokens for the beginning and end of a text.
    pub fn encode_raw(&self, text: &str, special: bool) -> Result<Vec<u32>, TokenizeError> {
        Ok(guarded(|| self.inner.encode_fast(text, special))?.get_ids().to_vec())
    }

    /// Returns the id of the added token whose literal is `literal`; `None` for a literal that only
    /// the model's own vocabulary holds.
    pub fn token_id(&self, literal: &str) -> Option<u32> {
        self.inner
            .token_to_id(literal)
            .filter(|id| self.added.get(id).is_some_and(|token| token.literal == literal))
    }

    /// Returns the added token `id`.
    pub fn added_token(&self, id: u32) -> Option<&AddedToken> {
        self.added.get(&id)
    }

    /// Returns the literals of all added tokens, in no particular order.
    pub fn added_literals(&self) -> impl Iterator<Item = &str> {
        self.added.values().map(|token| token.literal.as_str())
    }

    /// Whether `id` is a special token (BOS, EOS, padding). Its text reaches a parser as a marker
    /// that the parser declares, or not at all.
    pub fn is_special(&self, id: u32) -> bool {
        self.special.first().is_some_and(|first| *first <= id) && self.special.binary_search(&id).is_ok()
    }

    /// Number of ids: one more than the highest. A model's matrices may have more rows.
    pub fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    /// Decodes many ids at once. Added tokens become their literals, broken characters U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> Result<String, TokenizeError> {
        guarded(|| self.inner.decode(ids, false))
    }

    /// What goes wrong with one text, as a verb. An error is none: a vocabulary may lack
    /// characters.
    fn probe_with(&self, text: &str) -> Result<(), &'static str> {
        let normalised = caught(|| self.normalised_bytes(text)).map_err(|_| "fails on")?;
        if normalised > text.len() * PROBE_GROWTH {
            return Err("makes more than 16 bytes of each of");
        }
        let (text, splits) = self.split_segments(&[Segment::Text(text.to_owned())]);
        let encoding = caught(|| self.encode_splits(&text, &splits, OffsetType::None).unwrap_or_default())
            .map_err(|_| "fails on")?;
        caught(|| drop(self.inner.decode(encoding.get_ids(), false))).map_err(|_| "fails to write")
    }

    /// Length of the text as the normalizer leaves it, in bytes; 0 if it refuses the text.
    fn normalised_bytes(&self, text: &str) -> usize {
        let Some(normalizer) = self.inner.get_normalizer() else { return text.len() };
        let mut text = NormalizedString::from(text);
        normalizer.normalize(&mut text).map_or(0, |()| text.get().len())
    }

    /// Returns the bytes of one token, which may be a part of a character. Empty for an unknown id.
    pub fn token(&self, id: u32) -> Vec<u8> {
        match self.token_bytes() {
            Some(table) => table.get(id).to_vec(),
            None => self.decode(&[id]).unwrap_or_default().into_bytes(),
        }
    }

    /// Whether a text's bytes are those of its tokens, but for a space at its beginning.
    pub fn spells_bytes(&self) -> bool {
        self.alphabet.is_some()
    }

    /// Whether the space at the beginning of a whole text is none.
    pub(super) fn drops_first_space(&self) -> bool {
        matches!(self.alphabet, Some(Alphabet::SentencePiece { drops_first_space: true }))
    }

    /// Returns the bytes of every token, if a text's bytes are those of its tokens.
    pub(super) fn token_bytes(&self) -> Option<&Arc<TokenBytes>> {
        let spellings = || (0..).take(self.vocab_size).map(|id| self.spelling(id));
        let table = |alphabet| Arc::new(TokenBytes::new(spellings(), alphabet));
        self.bytes.get_or_init(|| self.alphabet.map(table)).as_ref()
    }

    /// Whether the tokens at one place depend on what is near only.
    pub(super) fn can_cut(&self) -> bool {
        !matches!(self.inner.get_model(), ModelWrapper::Unigram(_))
    }

    /// Most bytes of text that one token stands for; `None` if that isn't known.
    pub(super) fn longest_token(&self) -> Option<usize> {
        *self.longest.get_or_init(|| {
            let normalizer = serde_json::to_value(self.inner.get_normalizer()).ok()?;
            Some(self.token_bytes()?.longest() * shrinkage(&normalizer)?)
        })
    }

    fn spelling(&self, id: u32) -> Spelling {
        match self.added_token(id) {
            Some(token) => Spelling::Literal(token.literal.clone()),
            None => self.inner.id_to_token(id).map_or(Spelling::None, Spelling::Bytes),
        }
    }

    /// Returns the control tokens: all added tokens except white space, in the order of their ids.
    pub(super) fn controls(&self) -> Vec<AddedToken> {
        let mut controls: Vec<_> =
            self.added.values().filter(|token| !token.is_whitespace()).cloned().collect();
        controls.sort_unstable_by_key(|token| token.id);
        controls
    }

    /// Encodes segments at once, which takes memory of some hundred bytes for each of theirs: prompts
    /// are encoded by `encode_prompt`.
    pub(super) fn encode_segments(&self, segments: &[Segment<'_>]) -> Result<Vec<u32>, TokenizeError> {
        let (text, splits) = self.split_segments(segments);
        Ok(guarded(|| self.encode_splits(&text, &splits, OffsetType::None))?.get_ids().to_vec())
    }

    /// Encodes a text that is cut into `splits`. The steps are those of the `tokenizers` library:
    /// cut at control tokens; then normalise, pre-tokenise and tokenise the text between them.
    pub(super) fn encode_splits(
        &self,
        text: &str,
        splits: &[Split],
        offsets: OffsetType,
    ) -> tokenizers::Result<Encoding> {
        let mut sections = PreTokenizedString::from(text);
        sections.split(|_, whole| {
            let section = |cut: &Split| {
                let slice =
                    whole.slice(Range::Normalized(cut.start..cut.end)).ok_or("a cut inside a character")?;
                let token = cut.id.map(|id| vec![Token::new(id, String::new(), (0, cut.end - cut.start))]);
                Ok((slice, token))
            };
            splits.iter().map(section).collect::<tokenizers::Result<Vec<_>>>()
        })?;
        if let Some(normalizer) = self.inner.get_normalizer() {
            sections.normalize(|section| normalizer.normalize(section))?;
        }
        if let Some(pre_tokenizer) = self.inner.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut sections)?;
        }
        sections.tokenize(|word| self.tokenize(self.inner.get_model(), word.get()))?;
        sections.into_encoding(None, 0, offsets)
    }

    /// Encodes a text as it is written, with the places of its tokens in bytes.
    pub(super) fn encode_placed(&self, text: &str) -> tokenizers::Result<Encoding> {
        self.inner.encode(text, false)
    }

    /// Tokenises one word. Where the vocabulary spells an added token, the word is cut inside that
    /// token and tokenised in parts.
    fn tokenize(&self, model: &ModelWrapper, word: &str) -> tokenizers::Result<Vec<Token>> {
        let tokens = model.tokenize(word)?;
        let splits: Vec<usize> =
            tokens.iter().filter_map(|token| self.spelt_control_split(token, word)).collect();
        if splits.is_empty() {
            return Ok(tokens);
        }
        let mut parts = Vec::with_capacity(tokens.len() + splits.len());
        let ends = splits.iter().copied().chain([word.len()]);
        let mut start = 0;
        for end in ends {
            parts.extend(self.tokenize(model, &word[start..end])?);
            start = end;
        }
        Ok(parts)
    }

    /// Returns where to cut `word` if `token` is an added token that the word spells: behind the
    /// token's first character. A token of a single character can't be cut.
    fn spelt_control_split(&self, token: &Token, word: &str) -> Option<usize> {
        let added = self.added.get(&token.id)?;
        let text = word.get(token.offsets.0..token.offsets.1)?;
        let first = text.chars().next()?.len_utf8();
        (!added.is_whitespace() && text == token.value && first < text.len())
            .then_some(token.offsets.0 + first)
    }

    /// Returns the prompt's text and its splits: control tokens with the white space that they
    /// take, white-space tokens, text.
    pub(super) fn split_segments(&self, segments: &[Segment<'_>]) -> (String, Vec<Split>) {
        let mut text = String::new();
        let mut controls = Vec::new();
        for segment in segments {
            let start = text.len();
            match segment {
                Segment::Text(part) => text.push_str(part),
                Segment::Control(token) => {
                    text.push_str(&token.literal);
                    controls.push((*token, start));
                }
            }
        }
        let mut splits = Vec::new();
        let mut end = 0;
        for (index, &(token, start)) in controls.iter().enumerate() {
            let next = controls.get(index + 1).map_or(text.len(), |&(_, start)| start);
            let Some(cut) = token.cut(&text, start, end, next) else { continue };
            self.split_text(&text, end, cut.start, &mut splits);
            end = cut.end;
            splits.push(cut);
        }
        self.split_text(&text, end, text.len(), &mut splits);
        (text, splits)
    }

    fn split_text(&self, text: &str, start: usize, end: usize, splits: &mut Vec<Split>) {
        match &self.whitespace {
            Some(whitespace) => whitespace.cut(text, start, end, splits),
            None => splits.extend((start < end).then_some(Split { start, end, id: None })),
        }
    }
}

/// Parses a `tokenizer.json`. The library panics on some malformed files (such as an invalid
/// decoder); a panic becomes an error here.
fn parse(json: &[u8]) -> Result<tokenizers::Tokenizer, String> {
    let steps: TextSteps =
        serde_json::from_slice(json).map_err(|error| format!("not valid JSON: {error}"))?;
    steps.check()?;
    match caught(|| tokenizers::Tokenizer::from_bytes(json)) {
        Ok(parsed) => parsed.map_err(|error| one_line(&error)),
        Err(Panicked) => Err("not a tokenizer".to_owned()),
    }
}

/// Calls the library for a text.
pub(super) fn guarded<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, TokenizeError> {
    match caught(call) {
        Ok(done) => done.map_err(|error| TokenizeError(one_line(&error))),
        Err(Panicked) => Err(TokenizeError("its library failed at it".to_owned())),
    }
}

fn one_line(error: &dyn std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or("unknown").to_owned()
}
