//! Checker of a call's arguments while they stream: they become the `input` of a block, which must
//! be a JSON object. So a client is never sent text that its JSON parser refuses.

use actson::feeder::PushJsonFeeder;
use actson::{JsonEvent, JsonParser};

/// Checker of one call's arguments.
pub(super) struct InputCheck {
    parser: JsonParser<PushJsonFeeder>,
    begun: bool,
    depth: usize,
    string: InString,
}

/// Whether the next byte is in a string, and where in an escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InString {
    No,
    Yes,
    AfterBackslash,
    /// Among the four digits behind `\u`; holds the number of digits still to come.
    Digits(u8),
}

impl InputCheck {
    pub(super) fn new() -> Self {
        Self { parser: JsonParser::new(PushJsonFeeder::new()), begun: false, depth: 0, string: InString::No }
    }

    /// Checks the next piece of the arguments. Returns false if no object begins with the text so
    /// far; it must not be called again then.
    pub(super) fn push(&mut self, text: &str) -> bool {
        if self.string == InString::Yes && text.bytes().all(is_plain) {
            // Plain text is always valid inside a string. Most of long arguments is such text, so
            // the parser is spared.
            return true;
        }
        self.string = text.bytes().fold(self.string, InString::next);
        let mut rest = text.as_bytes();
        loop {
            match self.parser.next_event() {
                Ok(Some(JsonEvent::NeedMoreInput)) if rest.is_empty() => return true,
                Ok(Some(JsonEvent::NeedMoreInput)) => {
                    let pushed = self.parser.feeder.push_bytes(rest);
                    rest = &rest[pushed..];
                }
                Ok(Some(event)) if self.begun || event == JsonEvent::StartObject => self.nest(event),
                _ => return false,
            }
        }
    }

    /// Whether the object is complete.
    pub(super) fn is_whole(&self) -> bool {
        self.begun && self.depth == 0
    }

    fn nest(&mut self, event: JsonEvent) {
        self.begun = true;
        match event {
            JsonEvent::StartObject | JsonEvent::StartArray => self.depth += 1,
            JsonEvent::EndObject | JsonEvent::EndArray => self.depth -= 1,
            _ => {}
        }
    }
}

impl InString {
    /// The state after `byte`.
    fn next(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::AfterBackslash, b'u') => Self::Digits(4),
            (Self::Digits(left @ 2..), _) => Self::Digits(left - 1),
            (Self::No, b'"') | (Self::AfterBackslash | Self::Digits(_), _) => Self::Yes,
            (Self::Yes, b'"') | (Self::No, _) => Self::No,
            (Self::Yes, b'\\') => Self::AfterBackslash,
            (Self::Yes, _) => Self::Yes,
        }
    }
}

/// Whether a byte stands for itself in a string: no quote, no backslash, no control character.
fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}

impl std::fmt::Debug for InputCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InputCheck").field("depth", &self.depth).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::InputCheck;

    /// Offset of the character at which the checker refuses `text`, fed one character at a time;
    /// and whether `text` is a whole object.
    fn judged(text: &str) -> (Option<usize>, bool) {
        let mut check = InputCheck::new();
        let known = text.char_indices().find(|(at, char)| !check.push(&text[*at..*at + char.len_utf8()]));
        let whole = InputCheck::new().push(text) && check.is_whole();
        (known.map(|(at, _)| at), known.is_none() && whole)
    }

    #[test]
    fn only_objects_pass_and_first_wrong_byte_refuses() {
        for whole in ["{}", " {\"a\": [1, -2.5e3, {\"b\": \"é\\n\\u00e9\"}, null, true]} ", "{\"a\":{}}"] {
            assert_eq!(judged(whole), (None, true), "{whole}");
        }
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(5000));
        assert_eq!(judged(&long), (None, true));
        for (wrong, at) in [
            ("{city: 1}", 1),
            ("{\"a\":1}}", 7),
            ("[1]", 0),
            ("\"x\"", 2),
            ("Oslo", 0),
            ("{\"a\":\"\n\"}", 6),
            ("{\"a\":\"xyz\n\"}", 9),
            ("{\"a\":\"\\\"y\\q\"}", 10),
        ] {
            assert_eq!(judged(wrong), (Some(at), false), "{wrong}");
        }
        for cut in ["", "{", "{\"a\":\"", "{\"a\":[1,{}", "12"] {
            assert_eq!(judged(cut), (None, false), "{cut}");
        }
    }
}
