//! How streams are started here, and what becomes of their output.

use readers::{Record, Sink, Stream};

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

/// Short description of the first difference between two outputs.
pub(crate) fn difference(one: &Record, other: &Record) -> Option<String> {
    let show = |what: &str, one: &str, two: &str| Some(format!("{what} {} / {}", brief(one), brief(two)));
    if one.content != other.content {
        return show("content", &one.content, &other.content);
    }
    if one.reasoning != other.reasoning {
        return show("reasoning", &one.reasoning, &other.reasoning);
    }
    if one.calls.len() != other.calls.len() {
        return Some(format!("{} calls / {}", one.calls.len(), other.calls.len()));
    }
    let (one, two) = one.calls.iter().zip(&other.calls).find(|(one, two)| one != two)?;
    show("call", &format!("{} {}", one.0, one.1), &format!("{} {}", two.0, two.1))
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
