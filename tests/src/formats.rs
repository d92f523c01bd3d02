//! Streams of the parser benchmark: deltas of about four bytes, cut as the models' tokenizers cut
//! them.

use std::sync::LazyLock;

use registry::Deltas;

/// Delta of prose and of a call's string argument.
pub const WORD: &str = " abc";
/// Number of words in the argument of a small call.
const SMALL: usize = 20;

/// Prose and calls in one format.
#[derive(Debug)]
pub struct Format {
    /// Name of the plugin, or of the table.
    pub name: &'static str,
    /// Markers for which the tokenizer has no token, so that they are found in the text.
    pub spelt: &'static [&'static str],
    prose: [Vec<&'static str>; 2],
    call: [Vec<&'static str>; 2],
    /// Deltas after a call.
    between: Vec<&'static str>,
}

/// The shipped formats that have a parser of their own, and two tables.
pub static FORMATS: LazyLock<Vec<Format>> = LazyLock::new(|| {
    let parsers = registry::FORMATS.iter().map(|format| Format::of(format.name, format.profile.deltas));
    let tables = [("phi4-mini", PHI4_MINI), ("seed-oss", SEED_OSS)];
    parsers.chain(tables.map(|(name, deltas)| Format::of(name, deltas))).collect()
});

const PHI4_MINI: Deltas = Deltas {
    spelt: &["functools"],
    prose: ["", ""],
    call: ["<|tool_call|>·[{\"·name·\":· \"tool·\",· \"arguments·\":· {\"x\":· \"", "\"}·}]·<|/tool_call|>"],
    between: "\n",
};

const SEED_OSS: Deltas = Deltas {
    spelt: &["<function=", "</function>", "<parameter=", "</parameter>"],
    prose: ["", ""],
    call: [
        "<seed:tool_call>·\n·<·function·=tool·>\n·<·parameter·=x·>",
        "</·parameter·>\n·</·function·>\n·</seed:tool_call>",
    ],
    between: "\n",
};

/// Content of a stream.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Words.
    Prose,
    /// Words, then a call of as many.
    OneCall,
    /// Calls with an argument of twenty words.
    ManyCalls,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 3] = [Self::Prose, Self::OneCall, Self::ManyCalls];

    /// The shape in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::OneCall => "one call of half the stream",
            Self::ManyCalls => "many small calls",
        }
    }
}

impl Format {
    fn of(name: &'static str, deltas: Deltas) -> Self {
        let Deltas { spelt, prose, call, between } = deltas;
        let cut = |text: &'static str| text.split('·').filter(|delta| !delta.is_empty()).collect();
        Self { name, spelt, prose: prose.map(cut), call: call.map(cut), between: cut(between) }
    }

    /// Deltas at a stream's beginning that aren't measured: a small call.
    pub fn warm_up(&self) -> Vec<&'static str> {
        let mut deltas = Vec::new();
        self.call(SMALL, &mut deltas);
        deltas.extend(&self.between);
        deltas
    }

    /// Stream of about `count` deltas, which follow those of `warm_up`.
    pub fn deltas(&self, shape: Shape, count: usize) -> Vec<&'static str> {
        let mut deltas = Vec::with_capacity(count);
        match shape {
            Shape::Prose => self.prose(count, &mut deltas),
            Shape::OneCall => {
                self.prose(count / 2, &mut deltas);
                deltas.extend(&self.prose[1]);
                self.call(count - deltas.len() - self.call.concat().len(), &mut deltas);
            }
            Shape::ManyCalls => {
                while deltas.len() < count {
                    self.call(SMALL, &mut deltas);
                    deltas.extend(&self.between);
                }
            }
        }
        deltas
    }

    fn prose(&self, count: usize, deltas: &mut Vec<&'static str>) {
        deltas.extend(&self.prose[0]);
        deltas.resize(count, WORD);
    }

    /// Beginning of a call, up to the first word of its argument.
    pub fn opening(&self) -> &[&'static str] {
        &self.call[0]
    }

    /// Appends a call with `words` words in its argument.
    fn call(&self, words: usize, deltas: &mut Vec<&'static str>) {
        deltas.extend(&self.call[0]);
        deltas.extend(std::iter::repeat_n(WORD, words));
        deltas.extend(&self.call[1]);
    }

    /// Number of calls in `deltas`.
    pub fn calls(&self, deltas: &[&str]) -> usize {
        deltas.windows(self.call[0].len()).filter(|window| **window == *self.call[0]).count()
    }
}
