//! The served model's tokenizer, as used to check remote engines and to tokenise the text of those
//! that send no ids.

use std::sync::Arc;

use prompt::{TokenizeError, Tokenizer};

/// Sample strings that reveal another vocabulary, since it tokenises some of them differently:
/// words, code, numbers, white space, and writing systems.
const SAMPLES: [&str; 20] = [
    "Hello, world!",
    "The quick brown fox jumps over the lazy dog.",
    " leading and trailing blanks ",
    "fn main() {\n    println!(\"{}\", 1 + 2);\n}\n",
    "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}",
    "1234567890 3.14159 0xdeadbeef 1e-9",
    "\t\ttabs\r\nand\n\n\nlines   ",
    "don't can't we'll I'VE",
    "Größe, naïve, café, Ångström",
    "Съешь ещё этих мягких французских булок",
    "私はガラスを食べられます。",
    "我能吞下玻璃而不伤身体。",
    "나는 유리를 먹을 수 있어요.",
    "أنا قادر على أكل الزجاج",
    "मैं काँच खा सकता हूँ",
    "👩‍👩‍👧‍👦 🏳️‍🌈 🤷🏽",
    "e\u{301} \u{212b} \u{fb01} ½ ² ①",
    "SELECT * FROM t WHERE a <= 'b' -- c",
    "https://example.org/a_b-c?d=e%20f#g",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// Tokenizer of the served model.
#[derive(Clone)]
pub(super) struct Vocabulary {
    tokenizer: Arc<Tokenizer>,
    longest_token: usize,
}

impl Vocabulary {
    pub(super) fn new(tokenizer: Arc<Tokenizer>) -> Self {
        let ids = 0..u32::try_from(tokenizer.vocab_size()).unwrap_or(u32::MAX);
        let longest_token = ids.map(|id| tokenizer.token(id).len()).max().unwrap_or_default().max(1);
        Self { tokenizer, longest_token }
    }

    /// Length of the longest token, in bytes.
    pub(super) fn longest_token(&self) -> usize {
        self.longest_token
    }

    /// Size of the vocabulary; every token id is below it.
    pub(super) fn size(&self) -> usize {
        self.tokenizer.vocab_size()
    }

    /// Sample strings with their token ids.
    pub(super) fn samples(&self) -> Result<Vec<(&'static str, Vec<u32>)>, TokenizeError> {
        SAMPLES.into_iter().map(|text| Ok((text, self.tokenizer.encode_text(text)?))).collect()
    }

    /// Id of a special token that a model would hardly generate by itself, for probes: the highest
    /// one.
    pub(super) fn marker(&self) -> Option<u32> {
        self.tokenizer.added_literals().filter_map(|literal| self.tokenizer.token_id(literal)).max()
    }

    /// Token ids of text from an engine. Special tokens in the text are recognised. Empty if the
    /// text can't be encoded.
    pub(super) fn encode(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode_with_added(text).unwrap_or_default()
    }
}
