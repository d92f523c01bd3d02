//! Who wrote which part of a prompt: the template, or one of the roles of the conversation that it
//! renders. Traces and records show it; nothing is decided by it.
//!
//! Invariant: a character's author is the one that the template's output keeps for it (crate
//! `jinja`), and a token's author is that of its first character. A value that the template printed,
//! such as the braces around a tool's strings, belongs to the author beside it.

use jinja::{Origin, Text};

use super::conversation::Role;

/// Author of a part of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// The chat template.
    Template,
    /// A value that the template printed, such as a date.
    Value,
    /// A system message.
    System,
    /// A developer message.
    Developer,
    /// A user message.
    User,
    /// A message of the model, as the client sent it back.
    Assistant,
    /// A tool's result.
    Tool,
    /// The declarations of tools.
    Tools,
    /// Template arguments of the request.
    Arguments,
    /// A client that wrote the whole prompt.
    Client,
}

/// Authors with their words, as traces and records have them.
const WORDS: [(Author, &str); 10] = [
    (Author::Template, "template"),
    (Author::Value, "value"),
    (Author::System, "system"),
    (Author::Developer, "developer"),
    (Author::User, "user"),
    (Author::Assistant, "assistant"),
    (Author::Tool, "tool"),
    (Author::Tools, "tools"),
    (Author::Arguments, "arguments"),
    (Author::Client, "client"),
];

/// Author of so many tokens, one behind the other.
pub type AuthorRun = (Author, u32);

impl Author {
    /// The author of messages of this role.
    pub(super) fn of_role(role: Role) -> Self {
        match role {
            Role::System => Self::System,
            Role::Developer => Self::Developer,
            Role::User => Self::User,
            Role::Assistant => Self::Assistant,
            Role::Tool => Self::Tool,
        }
    }

    /// The author's word.
    pub fn word(self) -> &'static str {
        WORDS.iter().find(|(author, _)| *author == self).map_or("value", |(_, word)| word)
    }

    /// The author with this word; a word of a newer version is a value's.
    pub fn of_word(word: &str) -> Self {
        WORDS.iter().find(|(_, known)| *known == word).map_or(Self::Value, |(author, _)| *author)
    }

    /// How the template's run marks the author's characters.
    pub(super) fn origin(self) -> Origin {
        match self {
            Self::Template => Origin::Template,
            Self::Value => Origin::Request,
            _ => Origin::RequestPart(self as u8),
        }
    }

    fn of(origin: Origin) -> Self {
        WORDS
            .iter()
            .map(|(author, _)| *author)
            .find(|author| author.origin() == origin)
            .unwrap_or(Self::Value)
    }
}

/// Authors of a template's output, each with the byte at which its part ends.
fn of_output(output: &Text) -> Vec<(Author, usize)> {
    let mut end = 0;
    let runs = output.runs().map(|(origin, part)| {
        end += part.len();
        (Author::of(origin), end)
    });
    let mut runs: Vec<_> = runs.collect();
    let is_message = |author: &Author| !matches!(author, Author::Template | Author::Value);
    for at in 0..runs.len() {
        if runs[at].0 == Author::Value {
            let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
            let mut beside = beside.filter_map(|at| runs.get(at)).map(|(author, _)| *author);
            runs[at].0 = beside.find(is_message).unwrap_or(Author::Value);
        }
    }
    runs
}

/// Authors of the tokens of a template's output, which begin at these bytes of it.
pub(super) fn of_tokens(output: &Text, starts: &[usize]) -> Vec<AuthorRun> {
    let parts = of_output(output);
    let mut at = 0;
    let mut runs: Vec<AuthorRun> = Vec::new();
    for start in starts {
        while at + 1 < parts.len() && parts[at].1 <= *start {
            at += 1;
        }
        let author = parts.get(at).map_or(Author::Template, |(author, _)| *author);
        match runs.last_mut() {
            Some((last, count)) if *last == author => *count += 1,
            _ => runs.push((author, 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(parts: &[(Author, &str)]) -> Text {
        let parts: Vec<_> = parts.iter().map(|(author, part)| Text::new(author.origin(), *part)).collect();
        Text::concat(&parts)
    }

    #[test]
    fn every_author_has_a_word_and_an_origin_of_its_own() {
        for (author, word) in WORDS {
            assert_eq!(
                (author.word(), Author::of_word(word), Author::of(author.origin())),
                (word, author, author)
            );
        }
        assert_eq!(Author::of_word("somebody new"), Author::Value);
    }

    #[test]
    fn a_token_belongs_to_the_author_of_its_first_character() {
        use Author::{Template, User};
        let output = text(&[(Template, "ab"), (User, "cd"), (Template, "e")]);
        let runs = of_tokens(&output, &[0, 1, 3, 4]);
        assert_eq!(runs, [(Template, 2), (User, 1), (Template, 1)]);
    }

    #[test]
    fn a_printed_value_belongs_to_the_author_beside_it() {
        use Author::{Template, Tools, Value};
        let output = text(&[
            (Template, "<"),
            (Value, "{\""),
            (Tools, "a"),
            (Value, "\"}"),
            (Template, ">"),
            (Value, "1"),
        ]);
        let runs = of_tokens(&output, &[0, 1, 3, 4, 6, 7]);
        assert_eq!(runs, [(Template, 1), (Tools, 3), (Template, 1), (Value, 1)]);
    }
}
