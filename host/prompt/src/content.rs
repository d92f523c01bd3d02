//! Content of a message: a text, or a list of text parts as the client sent it. Whether parts stay
//! apart is known only when a template is: some templates take strings, some lists, and some both.
//!
//! Invariant: parts cost no allocation of their own, so many small ones take no more memory than
//! their request. Made by the protocols' readers, read by `variables`, and as one text by
//! everything that isn't a template.

use std::fmt;

/// Content of a message.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Content {
    /// The text. Parts are joined by one line break each.
    joined: String,
    /// The byte of `joined` at which each part begins; `None` if the content is a text and no list.
    starts: Option<Vec<usize>>,
}

impl Content {
    /// A list without parts.
    pub fn list() -> Self {
        Self { joined: String::new(), starts: Some(Vec::new()) }
    }

    /// Whether the client sent a list of parts, and not a text.
    pub(crate) fn is_list(&self) -> bool {
        self.starts.is_some()
    }

    /// The parts of a list, or the one text.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        let starts = self.starts.as_deref().unwrap_or(&[0]);
        let ends = starts.iter().skip(1).map(|next| next - 1).chain([self.joined.len()]);
        starts.iter().zip(ends).map(|(start, end)| &self.joined[*start..end])
    }

    /// The content as one text, as vLLM makes it for templates that take strings: parts are joined
    /// by line breaks.
    pub fn joined(&self) -> &str {
        &self.joined
    }

    /// The content as one text, without a copy.
    pub fn into_joined(self) -> String {
        self.joined
    }

    /// Size of the text in bytes.
    pub fn len(&self) -> usize {
        self.joined.len()
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.joined.is_empty()
    }

    /// Appends a part to a list, or a line to a text that isn't empty.
    pub fn push(&mut self, part: &str) {
        if self.starts.as_ref().map_or(!self.joined.is_empty(), |starts| !starts.is_empty()) {
            self.joined.push('\n');
        }
        if let Some(starts) = &mut self.starts {
            starts.push(self.joined.len());
        }
        self.joined.push_str(part);
    }

    /// Appends `text` to the text, or to the last part.
    pub fn push_str(&mut self, text: &str) {
        match &self.starts {
            Some(starts) if starts.is_empty() => self.push(text),
            _ => self.joined.push_str(text),
        }
    }

    /// Inserts `text` before the text, or before the first part's.
    pub fn prefix(&mut self, text: &str) {
        match &mut self.starts {
            Some(starts) if starts.is_empty() => starts.push(0),
            Some(starts) => starts[1..].iter_mut().for_each(|start| *start += text.len()),
            None => {}
        }
        self.joined.insert_str(0, text);
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self { joined: text, starts: None }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl<T: AsRef<str>> FromIterator<T> for Content {
    fn from_iter<I: IntoIterator<Item = T>>(parts: I) -> Self {
        let mut list = Self::list();
        parts.into_iter().for_each(|part| list.push(part.as_ref()));
        list
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_list() { f.debug_list().entries(self.parts()).finish() } else { self.joined.fmt(f) }
    }
}

#[cfg(test)]
mod tests {
    use super::Content;

    fn parts(content: &Content) -> Vec<&str> {
        content.parts().collect()
    }

    #[test]
    fn list_keeps_its_parts_and_its_text_is_their_lines() {
        for list in [&[][..], &[""], &["a"], &["", ""], &["a", "", "b\n"], &["é", "\n", ""]] {
            let content: Content = list.iter().collect();
            assert!(content.is_list());
            assert_eq!(parts(&content), list);
            assert_eq!(content.joined(), list.join("\n"));
            assert_eq!(
                (content.len(), content.is_empty()),
                (content.joined().len(), content.joined().is_empty())
            );
            assert_eq!(format!("{content:?}"), format!("{list:?}"));
        }
    }

    #[test]
    fn a_text_is_no_list_and_differs_from_a_list_of_it() {
        let content = Content::from("a\nb");
        assert!(!content.is_list());
        assert_eq!((parts(&content), content.joined()), (vec!["a\nb"], "a\nb"));
        assert_eq!(format!("{content:?}"), "\"a\\nb\"");
        assert_ne!(content, Content::from_iter(["a\nb"]));
        assert_ne!(content, Content::from_iter(["a", "b"]));
    }

    #[test]
    fn additions_go_to_the_outer_parts_or_become_one() {
        let changed = |mut content: Content| {
            content.prefix("<é");
            content.push_str(">");
            content.push("z");
            content
        };
        assert_eq!(changed(Content::list()), Content::from_iter(["<é>", "z"]));
        assert_eq!(changed(Content::from_iter(["a"])), Content::from_iter(["<éa>", "z"]));
        assert_eq!(changed(Content::from_iter(["a", "", "b"])), Content::from_iter(["<éa", "", "b>", "z"]));
        assert_eq!(changed(Content::from("a")), Content::from("<éa>\nz"));
        let mut empty = Content::default();
        empty.push("a");
        assert_eq!(empty, Content::from("a"));
    }
}
