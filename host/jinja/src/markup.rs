//! Markup, as markupsafe has it: escapes, entities and tags.

use crate::strings::is_space;
use crate::text::{Origin, Text, TextBuilder};

/// markupsafe's `escape`: markup stays as it is.
pub(crate) fn escape(text: &Text) -> Text {
    if text.is_markup {
        return text.clone();
    }
    escape_again(text)
}

/// Escapes also what is markup already.
pub(crate) fn escape_again(text: &Text) -> Text {
    let escaped = text.map(|part, out| {
        for c in part.chars() {
            match c {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '\'' => out.push_str("&#39;"),
                '"' => out.push_str("&#34;"),
                _ => out.push(c),
            }
        }
    });
    escaped.with_markup(true)
}

/// Text without tags and comments, with white space collapsed and entities resolved.
pub(crate) fn striptags(text: &Text) -> Text {
    let mut out = TextBuilder::default();
    let mut word_start = 0;
    let stripped = without_tags(text);
    for (word_end, _) in stripped.as_str().match_indices(is_space).chain([(stripped.as_str().len(), "")]) {
        if word_end > word_start {
            out.push(Origin::Template, if out.len() > 0 { " " } else { "" });
            out.push_slice(&stripped, word_start..word_end);
        }
        word_start =
            stripped.as_str()[word_end..].chars().next().map_or(word_end, |c| word_end + c.len_utf8());
    }
    unescape(&out.finish())
}

fn without_tags(text: &Text) -> Text {
    let mut out = TextBuilder::default();
    let string = text.as_str();
    let mut at = 0;
    while let Some(open) = string[at..].find('<').map(|open| at + open) {
        let (end, len) = if string[open..].starts_with("<!--") { ("-->", 3) } else { (">", 1) };
        let Some(close) = string[open..].find(end) else { break };
        out.push_slice(text, at..open);
        at = open + close + len;
    }
    out.push_slice(text, at..string.len());
    out.finish()
}

/// Resolves the entities that `escape` makes. The result is plain text.
pub(crate) fn unescape(text: &Text) -> Text {
    let entities =
        [("&lt;", '<'), ("&gt;", '>'), ("&#39;", '\''), ("&#34;", '"'), ("&quot;", '"'), ("&amp;", '&')];
    let plain = text.map(|part, out| {
        let mut rest = part;
        while let Some(at) = rest.find('&') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let (len, c) = entities
                .iter()
                .find(|(entity, _)| rest.starts_with(entity))
                .map_or((1, '&'), |(entity, c)| (entity.len(), *c));
            out.push(c);
            rest = &rest[len..];
        }
        out.push_str(rest);
    });
    plain.with_markup(false)
}
