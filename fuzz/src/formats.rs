//! Input of each parser's target: the fragments and prompts of the format's tests, beside the
//! markers and the common fragments.

use parser_kit::{VALUES, agree, check_broken_off};
use parser_sdk::{Descriptor, Parser};
use registry::{Call, INTERPRETER};

use crate::Stream;

/// Number of places at which a stream is broken off.
const BREAKS: usize = 8;

/// Format and its parser.
#[derive(Debug)]
pub struct Format {
    /// Name of the parser, and of its folder.
    pub name: &'static str,
    prompts: &'static [&'static str],
    fragments: &'static [&'static str],
    /// Fragments of values, if the format writes them as text.
    values: &'static [&'static str],
    /// Response templates with their fragments, one of which the head selects; empty if the format
    /// is the parser's own.
    tables: &'static [(&'static str, &'static [&'static str])],
    describe: fn(&[(String, String)]) -> Result<Descriptor, String>,
    play: fn(&Stream, &str),
}

macro_rules! formats {
    ($($module:ident $name:literal;)*) => {
        /// Formats with a parser of their own.
        pub fn own() -> Vec<Format> {
            vec![$(Format::with_own_parser::<registry::$module::Parser>(registry::$module::FORMAT)),*]
        }
    };
}
registry::with_formats!(formats);

/// Formats of the tables.
fn interpreted() -> Format {
    type Interpreter = registry::response_template::Parser;
    Format {
        name: INTERPRETER.name,
        prompts: &[""],
        fragments: INTERPRETER.fragments,
        values: &[],
        tables: INTERPRETER.tables,
        describe: Interpreter::describe,
        play: play::<Interpreter>,
    }
}

impl Format {
    fn with_own_parser<P: Parser>(format: registry::Format) -> Self {
        let registry::Format { name, prompts, fragments, profile, .. } = format;
        let values = match profile.writing.call {
            Call::Parameters(..) | Call::Typed(..) | Call::Elements(_) => VALUES,
            Call::Json(_) | Call::Bare(_) | Call::Python(_) => &[],
        };
        Self { name, prompts, fragments, values, tables: &[], describe: P::describe, play: play::<P> }
    }

    /// The format of the shipped parser of this name.
    pub fn of(name: &str) -> Option<Self> {
        own().into_iter().chain([interpreted()]).find(|format| format.name == name)
    }

    /// Plays `data` as a turn of this format in every way that must give the same result.
    ///
    /// # Panics
    /// The parser broke a property.
    pub fn check(&self, data: &[u8]) {
        let table = data.get(2).copied().unwrap_or_default() / 8;
        let options = self.options(table);
        let markers = self.markers(&options);
        if let Some(mut stream) = Stream::read(data, &self.fragments(table, &markers)) {
            stream.request.options = options;
            (self.play)(&stream, self.prompts[stream.prompt % self.prompts.len()]);
        }
    }

    /// Options of the parser: the table of this number, if it has tables.
    pub fn options(&self, table: u8) -> Vec<(String, String)> {
        let chosen =
            self.table(table).map(|(table, _)| ("response_template".to_owned(), (*table).to_owned()));
        chosen.into_iter().collect()
    }

    fn table(&self, number: u8) -> Option<&'static (&'static str, &'static [&'static str])> {
        self.tables.get(usize::from(number) % self.tables.len().max(1))
    }

    /// Texts of the bytes from 0x80 on: `markers`, which are the descriptor's, the fragments of the
    /// format, or of its table of this number, and the common ones.
    pub fn fragments<'a>(&self, table: u8, markers: &'a [String]) -> Vec<&'a str> {
        let of_table = self.table(table).map_or(&[][..], |(_, fragments)| fragments);
        let all = markers.iter().map(String::as_str).chain([of_table, self.fragments, self.values, COMMON].concat());
        let mut seen = std::collections::HashSet::new();
        all.filter(|fragment| seen.insert(*fragment)).collect()
    }

    /// Markers of the parser.
    ///
    /// # Panics
    /// The parser refuses these options.
    pub fn markers(&self, options: &[(String, String)]) -> Vec<String> {
        (self.describe)(options).expect("describes itself").markers
    }
}

fn play<P: Parser>(stream: &Stream, prompt: &str) {
    let Stream { request, output, sizes, reason, .. } = stream;
    agree::<P>(request, prompt, output, sizes, *reason);
    check_broken_off::<P>(request, prompt, output, BREAKS);
}

/// Fragments that are difficult for every parser: JSON that ends anywhere, names, half markers,
/// characters of several bytes.
const COMMON: &[&str] = &[
    "{\"name\": \"add\", ",
    "{\"name\": \"add\", \"arguments\": {",
    "{\"name\": \"add\", \"parameters\": {",
    "\"arguments\": {",
    "\"name\": \"add\"",
    "\"name\": \"patch\"",
    "{\"input\": \"",
    "\"input\": ",
    "{\"a\": 1}",
    "{\"i\": 5}",
    "\": \"",
    "\\\"",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\ud83d",
    "}}",
    "}}\n",
    "]}",
    "add",
    "get_weather",
    "patch",
    "nowhere",
    "null",
    "true",
    "1.5e3",
    "</",
    "<|",
    "|>",
    "```",
    "```json\n",
    "assistant",
    "\n\n",
    "  ",
    "é",
    "😀",
    "\u{2003}",
    "prose, long enough to be no number, name or word at all, however it is cut, ",
];
