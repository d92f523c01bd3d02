//! `openai-harmony`: its streaming parser, token by token, and the vocabulary that Harmony's
//! parsers read.

use std::path::Path;
use std::sync::OnceLock;

use openai_harmony::chat::Role;
use openai_harmony::{HarmonyEncoding, HarmonyEncodingName, StreamableParser, load_harmony_encoding};

use crate::{Delta, Names, Sink, Stream};

/// Environment variable with the folder in which all three crates look for the vocabulary.
const FOLDER: &str = "TIKTOKEN_ENCODINGS_BASE";

/// Sets the variable to the folder that `vocabulary.sh` fills, unless it is set.
///
/// Must be called before any other thread runs.
pub fn find_vocabulary() {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../vocabulary");
    if std::env::var_os(FOLDER).is_none() && Path::new(own).join("o200k_base.tiktoken").exists() {
        // SAFETY: no other thread runs yet.
        #[expect(unsafe_code, reason = "the crates read nothing but the environment")]
        unsafe {
            std::env::set_var(FOLDER, own);
        }
    }
}

fn encoding() -> Option<&'static HarmonyEncoding> {
    static ENCODING: OnceLock<Option<HarmonyEncoding>> = OnceLock::new();
    let load = || load_harmony_encoding(HarmonyEncodingName::HarmonyGptOss).expect("o200k_base.tiktoken");
    ENCODING.get_or_init(|| std::env::var_os(FOLDER).map(|_| load())).as_ref()
}

/// Whether the vocabulary is available.
#[must_use]
pub fn available() -> bool {
    encoding().is_some()
}

/// Tokens of a text in Harmony's vocabulary; empty without the vocabulary.
#[must_use]
pub fn encode(text: &str) -> Vec<u32> {
    encoding().map(|encoding| encoding.tokenizer().encode_with_special_tokens(text)).unwrap_or_default()
}

/// Whether parsers of these names read Harmony.
#[must_use]
pub fn is_harmony(names: &Names) -> bool {
    matches!(names.calls.as_deref(), Some("harmony" | "gpt_oss"))
}

/// Tokens of a text for parsers that servers give some.
#[must_use]
pub fn tokens(names: &Names, text: &str) -> Vec<u32> {
    if names.calls.as_deref() == Some("gpt_oss") { encode(text) } else { Vec::new() }
}

/// Starts a stream of `openai-harmony`, which reads tokens alone; `None` without the vocabulary.
///
/// # Panics
///
/// If the library can't read the vocabulary that it has loaded.
#[must_use]
pub fn start() -> Option<Box<dyn Stream>> {
    let parser =
        StreamableParser::new(encoding()?.clone(), Some(Role::Assistant)).expect("its own vocabulary");
    Some(Box::new(Harmony { parser, place: Place::Header, calls: 0 }))
}

struct Harmony {
    parser: StreamableParser,
    place: Place,
    calls: usize,
}

/// Kind of the open message, which is determined when its first text comes.
enum Place {
    Header,
    Content,
    Reasoning,
    Call,
}

impl Harmony {
    fn open(&mut self, sink: &mut dyn Sink) {
        let name = self.parser.current_recipient();
        self.place = match name.as_deref().map(|name| name.trim_start_matches("functions.")) {
            Some(name) => {
                sink.call(self.calls, name);
                self.calls += 1;
                Place::Call
            }
            None if self.parser.current_channel().as_deref() == Some("analysis") => Place::Reasoning,
            None => Place::Content,
        };
    }
}

impl Stream for Harmony {
    fn feed(&mut self, delta: &Delta<'_>, sink: &mut dyn Sink) {
        for token in &delta.tokens {
            // The checks find what an error loses.
            let _ = self.parser.process(*token);
            let Some(text) = self.parser.last_content_delta().expect("a delta") else {
                self.place = Place::Header;
                continue;
            };
            if matches!(self.place, Place::Header) {
                self.open(sink);
            }
            match self.place {
                Place::Call => sink.arguments(self.calls - 1, &text),
                Place::Reasoning => sink.reasoning(&text),
                Place::Content | Place::Header => sink.content(&text),
            }
        }
    }

    fn finish(&mut self, _: &mut dyn Sink) {
        // The parser returns an error if the stream ends within a header.
        let _ = self.parser.process_eos();
    }
}
