//! The module: compiles one grammar for a vocabulary of single bytes, since the grammar's structure
//! alone decides what it costs.
//!
//! The host calls `prepare`, `room`, writes the grammar there, and calls `compile`, each once.
//! Nothing is freed: the instance ends.

use std::slice;
use std::sync::{Arc, OnceLock};

use llguidance::ParserFactory;
use llguidance::toktrie::{TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

static COMPILER: OnceLock<ParserFactory> = OnceLock::new();

/// Text of an answer, in the module's memory.
#[repr(C)]
struct Answer {
    text: *const u8,
    bytes: usize,
}

/// Makes a compiler for a vocabulary of `tokens` tokens, so that grammars may name any of their
/// ids.
#[unsafe(no_mangle)]
#[allow(unsafe_code, reason = "an exported name")]
extern "C" fn prepare(tokens: u32) {
    let vocabulary: TokEnv = Arc::new(SingleBytes::new(tokens.max(300)));
    let compiler = crate::compiler(&vocabulary, &[]);
    COMPILER.get_or_init(|| compiler.expect("single bytes are a vocabulary"));
}

/// Makes room for a grammar of `bytes` bytes.
#[unsafe(no_mangle)]
#[allow(unsafe_code, reason = "an exported name")]
extern "C" fn room(bytes: usize) -> *mut u8 {
    Vec::with_capacity(bytes).leak().as_mut_ptr()
}

/// Compiles the grammar, and computes the mask of its first byte. The answer says why it can't be
/// followed; it is empty if it can.
#[unsafe(no_mangle)]
#[allow(unsafe_code, reason = "an exported name, and the grammar comes as an address")]
unsafe extern "C" fn compile(grammar: *const u8, bytes: usize) -> *const Answer {
    // SAFETY: the host wrote `bytes` bytes of UTF-8 into a room of that size.
    let grammar = unsafe { str::from_utf8_unchecked(slice::from_raw_parts(grammar, bytes)) };
    let reason = attempt(grammar).err().unwrap_or_default().leak();
    Box::leak(Box::new(Answer { text: reason.as_ptr(), bytes: reason.len() }))
}

fn attempt(grammar: &str) -> Result<(), String> {
    let compiler = COMPILER.get().ok_or("not prepared")?;
    let (_, mut matcher) = crate::compile(compiler, grammar)?;
    matcher.compute_mask_or_eos().map(drop).map_err(|error| error.to_string())
}

/// Vocabulary of all bytes, and tokens without text.
struct SingleBytes(TokTrie);

impl SingleBytes {
    /// A vocabulary of `tokens` tokens, of which the last one ends the text.
    fn new(tokens: u32) -> Self {
        let byte = |id: u32| u8::try_from(id).map_or_else(|_| Vec::new(), |byte| vec![byte]);
        let end = vec![TokTrie::SPECIAL_TOKEN_MARKER, b'.'];
        let words: Vec<Vec<u8>> = (0..tokens - 1).map(byte).chain([end]).collect();
        Self(TokTrie::from(&TokRxInfo::new(tokens, tokens - 1), &words))
    }
}

impl TokenizerEnv for SingleBytes {
    fn tok_trie(&self) -> &TokTrie {
        &self.0
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        self.0.greedy_tokenize(bytes)
    }
}

/// Clock of crate `instant`, which llguidance reads for its statistics. A sandbox has none.
#[unsafe(no_mangle)]
#[allow(unsafe_code, reason = "an exported name that only that crate links")]
extern "C" fn now() -> f64 {
    0.0
}
