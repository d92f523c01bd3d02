//! An open JSON object or list, followed byte by byte to its end. Only strings, escapes and
//! brackets are read; the JSON isn't checked.

use contract::InString;

/// State of an open JSON value between two bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenJson {
    /// Number of open brackets.
    depth: u32,
    string: InString,
}

impl OpenJson {
    /// A value with `depth` open brackets, whose next byte stands there; `None` if no bracket is
    /// open.
    pub(super) fn new(depth: u32, string: InString) -> Option<Self> {
        (depth > 0).then_some(Self { depth, string })
    }

    /// The state before a value.
    pub(super) fn outside() -> Self {
        Self { depth: 1, string: InString::No }
    }

    /// Whether the next byte is inside a string.
    pub(super) fn in_string(&self) -> bool {
        self.string != InString::No
    }

    /// Reads `text` and returns the number of bytes before the bracket that closes the value, or
    /// the length of `text` if it isn't there.
    #[inline]
    pub(super) fn follow(&mut self, text: &[u8]) -> usize {
        let mut at = 0;
        while at < text.len() {
            match self.string {
                InString::No => match text[at] {
                    b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                    b'}' | b']' if self.depth == 1 => return at,
                    b'}' | b']' => self.depth -= 1,
                    _ => {}
                },
                // Plain bytes of a string, as most are, change nothing.
                InString::Yes => match text[at..].iter().position(|byte| matches!(byte, b'"' | b'\\')) {
                    Some(plain) => at += plain,
                    None => return text.len(),
                },
                InString::AfterBackslash => {}
            }
            self.string = self.string.next(text[at]);
            at += 1;
        }
        text.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::InString::{AfterBackslash, No, Yes};
    use super::*;

    #[test]
    fn strings_escapes_and_brackets_lead_to_last_bracket() {
        let goes = |depth, string, text: &str| OpenJson::new(depth, string).unwrap().follow(text.as_bytes());
        assert_eq!(goes(1, No, "}"), 0);
        assert_eq!(goes(1, No, r#""a": [1, {}, "]}\"}"], "b": 2}]"#), 29);
        assert_eq!(goes(1, Yes, r#"}\\"}"#), 4);
        assert_eq!(goes(2, Yes, r#"é\"}"]]"#), 7);
        assert_eq!(goes(1, AfterBackslash, r#""}"}"#), 3);
        assert_eq!(goes(2, No, "}"), 1);
        assert!(OpenJson::new(0, Yes).is_none());
    }

    proptest! {
        #[test]
        fn where_it_is_cut_does_not_matter(text in r#"[{}\[\]"\\a]{0,40}"#, depth in 1u32..4, at in 0usize..3, cut: prop::sample::Index) {
            let string = [No, Yes, AfterBackslash][at];
            let whole = OpenJson::new(depth, string).unwrap().follow(text.as_bytes());
            let (left, right) = text.as_bytes().split_at(cut.index(text.len() + 1));
            let mut json = OpenJson::new(depth, string).unwrap();
            let mut goes = json.follow(left);
            if goes == left.len() {
                goes += json.follow(right);
            }
            prop_assert_eq!(goes, whole);
        }
    }
}
