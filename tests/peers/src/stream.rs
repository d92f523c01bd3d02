//! Traits for the parsers under test: the stream that feeds a parser, and the sink of its output.
//!
//! Invariant: an adapter passes on all output of its parser for a delta before `feed` returns, and
//! copies nothing.

/// Delta of a model's output.
pub(crate) struct Delta<'a> {
    pub(crate) text: &'a str,
    /// Token id of the delta: the marker's index if it is a marker with a token of its own,
    /// `u32::MAX` for other tokens; `None` for plain text.
    pub(crate) marker: Option<u32>,
    /// The delta's tokens in Harmony's vocabulary, for the parsers that read those; empty if the
    /// parser has to read text.
    pub(crate) tokens: Vec<u32>,
}

/// Sink of a parser's output.
pub(crate) trait Sink {
    fn content(&mut self, text: &str);
    fn reasoning(&mut self, text: &str);
    /// Begins the call of this number.
    fn call(&mut self, index: usize, name: &str);
    /// Appends to that call's arguments.
    fn arguments(&mut self, index: usize, json: &str);
}

/// Stream through one parser.
pub(crate) trait Stream {
    fn feed(&mut self, delta: &Delta<'_>, sink: &mut dyn Sink);
    fn finish(&mut self, sink: &mut dyn Sink);
}

/// Cuts of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Between tokens: a marker that is a token comes as one.
    Tokens,
    /// Anywhere, as text.
    Text,
}

/// Starts a stream; `None` if the parser can't read streams with such cuts.
pub(crate) type Start = Box<dyn Fn(Cut) -> Option<Box<dyn Stream>>>;

/// Sink that counts the bytes of output.
#[derive(Default)]
pub(crate) struct Count(pub(crate) usize);

impl Sink for Count {
    fn content(&mut self, text: &str) {
        self.0 += text.len();
    }

    fn reasoning(&mut self, text: &str) {
        self.0 += text.len();
    }

    fn call(&mut self, _: usize, name: &str) {
        self.0 += name.len();
    }

    fn arguments(&mut self, _: usize, json: &str) {
        self.0 += json.len();
    }
}

/// Sink that keeps the output.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) content: String,
    pub(crate) reasoning: String,
    /// Names and arguments of the calls.
    pub(crate) calls: Vec<(String, String)>,
}

impl Record {
    fn at(&mut self, index: usize) -> &mut (String, String) {
        if self.calls.len() <= index {
            self.calls.resize_with(index + 1, Default::default);
        }
        &mut self.calls[index]
    }

    /// Short description of the first difference.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let show = |what: &str, one: &str, two: &str| Some(format!("{what} {} / {}", brief(one), brief(two)));
        if self.content != other.content {
            return show("content", &self.content, &other.content);
        }
        if self.reasoning != other.reasoning {
            return show("reasoning", &self.reasoning, &other.reasoning);
        }
        if self.calls.len() != other.calls.len() {
            return Some(format!("{} calls / {}", self.calls.len(), other.calls.len()));
        }
        let (one, two) = self.calls.iter().zip(&other.calls).find(|(one, two)| one != two)?;
        show("call", &format!("{} {}", one.0, one.1), &format!("{} {}", two.0, two.1))
    }
}

/// `text` quoted, and shortened in the middle.
fn brief(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= 60 {
        return format!("{text:?}");
    }
    let (head, tail) = (chars[..40].iter(), chars[chars.len() - 16..].iter());
    format!("{:?}…{:?}", head.collect::<String>(), tail.collect::<String>())
}

impl Sink for Record {
    fn content(&mut self, text: &str) {
        self.content.push_str(text);
    }

    fn reasoning(&mut self, text: &str) {
        self.reasoning.push_str(text);
    }

    fn call(&mut self, index: usize, name: &str) {
        self.at(index).0.push_str(name);
    }

    fn arguments(&mut self, index: usize, json: &str) {
        self.at(index).1.push_str(json);
    }
}
