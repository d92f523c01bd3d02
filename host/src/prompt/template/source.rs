//! Rewriter of a template's source: control tokens become stand-in characters, `{% generation %}` becomes `{% if true %}`.
//!
//! Stand-ins are put into raw text and string constants only, never into code or comments, so that a token spelt like a name or a
//! bracket leaves the program as it is. Called when a template is compiled.

/// Rewrites `source`; `constant` is applied to raw text and to the inside of string constants.
pub(in crate::prompt) fn rewrite(source: &str, constant: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = next_tag(rest) {
        out.push_str(&constant(&rest[..at]));
        let (tag, after) = split_tag(&rest[at..]);
        rest = after;
        match tag_name(tag) {
            Some("generation") => out.push_str(&tag.replacen("generation", "if true", 1)),
            Some("endgeneration") => out.push_str(&tag.replacen("endgeneration", "endif", 1)),
            Some("raw") => {
                let (text, after) = rest.split_at(end_of_raw(rest));
                out.push_str(tag);
                out.push_str(&constant(text));
                rest = after;
            }
            _ if tag.starts_with("{#") => out.push_str(tag),
            _ => push_code(tag, &constant, &mut out),
        }
    }
    out + &constant(rest)
}

/// Returns the position of the next `{{`, `{%` or `{#`.
fn next_tag(text: &str) -> Option<usize> {
    text.as_bytes().windows(2).position(|pair| matches!(pair, b"{{" | b"{%" | b"{#"))
}

/// Splits `text` behind the tag that it begins with. An unclosed tag is the whole text; the compiler reports it.
fn split_tag(text: &str) -> (&str, &str) {
    let end = match &text[..2] {
        "{#" => text.find("#}").map(|at| at + 2),
        open => end_of_code(text, if open == "{{" { '}' } else { '%' }),
    };
    text.split_at(end.unwrap_or(text.len()))
}

/// Returns the end of `{{ … }}` or `{% … %}`: behind `closing` and `}`, outside of strings and brackets.
fn end_of_code(text: &str, closing: char) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 2;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '\'' | '"' => at += string_len(&text[at..]) - 1,
            _ if depth == 0 && c == closing && text[at + 1..].starts_with('}') => return Some(at + 2),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += c.len_utf8();
    }
    None
}

/// Returns the length in bytes of the string constant that `text` begins with, quotes included.
fn string_len(text: &str) -> usize {
    let quote = text.as_bytes()[0];
    let mut escaped = false;
    for (at, &byte) in text.as_bytes().iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the trimmed inside of `tag` if it is a `{% … %}`: for a tag of one word, that word.
fn tag_name(tag: &str) -> Option<&str> {
    let inner = tag.strip_prefix("{%")?.strip_suffix("%}")?;
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    Some(inner.strip_suffix(['-', '+']).unwrap_or(inner).trim())
}

/// Returns the position of `{% endraw %}`, or the end of `text` if there is none.
fn end_of_raw(text: &str) -> usize {
    let is_end = |at: usize| {
        let end = text[at..].find("%}").map(|end| at + end + 2);
        end.is_some_and(|end| tag_name(&text[at..end]) == Some("endraw"))
    };
    text.match_indices("{%").map(|(at, _)| at).find(|&at| is_end(at)).unwrap_or(text.len())
}

fn push_code(tag: &str, constant: &impl Fn(&str) -> String, out: &mut String) {
    let mut rest = tag;
    while let Some(at) = rest.find(['\'', '"']) {
        let len = string_len(&rest[at..]);
        out.push_str(&rest[..=at]);
        let string = &rest[at..at + len];
        let closed = len > 1 && string.ends_with(&string[..1]);
        let inner = &string[1..len - usize::from(closed)];
        out.push_str(&constant(inner));
        out.push_str(&string[1 + inner.len()..]);
        rest = &rest[at + len..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::rewrite;

    fn rewritten(source: &str) -> String {
        rewrite(source, |text| text.replace("[x]", "@"))
    }

    #[test]
    fn constants_and_raw_text_are_rewritten_and_code_and_comments_are_not() {
        assert_eq!(
            rewritten("a[x]{{ b[x] ~ '[x]' ~ \"[x]\" }}{# [x] #}[x]"),
            "a@{{ b[x] ~ '@' ~ \"@\" }}{# [x] #}@"
        );
        assert_eq!(rewritten("{% if a[x] == '\\'[x]' %}"), "{% if a[x] == '\\'@' %}");
    }

    #[test]
    fn a_tag_ends_outside_of_strings_and_braces() {
        assert_eq!(rewritten("{{ {'a': {'b': '[x]}}'}} }}[x]"), "{{ {'a': {'b': '@}}'}} }}@");
        assert_eq!(rewritten("{% set a = '%}' %}[x]"), "{% set a = '%}' %}@");
    }

    #[test]
    fn raw_blocks_are_text() {
        assert_eq!(
            rewritten("{% raw %}{{ [x] }}{%- endraw %}{{ a[x] }}"),
            "{% raw %}{{ @ }}{%- endraw %}{{ a[x] }}"
        );
    }

    #[test]
    fn generation_tags_become_conditions_that_trim_alike() {
        assert_eq!(rewritten("{%- generation -%}a{% endgeneration +%}"), "{%- if true -%}a{% endif +%}");
        assert_eq!(rewritten("{% set generation = 1 %}"), "{% set generation = 1 %}");
    }

    #[test]
    fn unclosed_tags_and_strings_are_left_to_the_compiler() {
        for source in ["{{ 'a", "{% \"", "{#", "{{", "{% raw %}a", "{{ '\\"] {
            assert_eq!(rewritten(source), source);
        }
    }
}
