//! Methods that change the case of letters. They work within the parts of one origin, but for what
//! depends on the letter before.

use crate::text::{Text, TextBuilder};

/// Calls the method, which takes no arguments.
pub(super) fn call(text: &Text, name: &str) -> Text {
    match name {
        "upper" => text.map(|part, out| out.push_str(&part.to_uppercase())),
        "lower" => lower(text),
        "casefold" => text.map(|part, out| part.chars().for_each(|c| push_folded(c, out))),
        "swapcase" => text.map(|part, out| {
            for c in part.chars() {
                match c {
                    _ if c.is_uppercase() => out.extend(c.to_lowercase()),
                    _ if c.is_lowercase() => out.extend(c.to_uppercase()),
                    _ => out.push(c),
                }
            }
        }),
        "capitalize" => {
            let first = text.as_str().chars().next().map_or(0, char::len_utf8);
            let mut out = TextBuilder::new(text.is_markup);
            out.push_text(
                &text.slice(0..first).map(|part, out| part.chars().for_each(|c| push_title(c, out))),
            );
            out.push_text(&lower(&text.slice(first..text.as_str().len())));
            out.finish()
        }
        "title" => {
            let mut after_letter = false;
            text.map(|part, out| {
                for c in part.chars() {
                    if after_letter {
                        out.extend(c.to_lowercase());
                    } else {
                        push_title(c, out);
                    }
                    after_letter = is_cased(c);
                }
            })
        }
        _ => text.clone(),
    }
}

pub(crate) fn lower(text: &Text) -> Text {
    text.map(|part, out| out.push_str(&part.to_lowercase()))
}

/// Upper case, or the title case of the few letters that have one.
fn push_title(c: char, out: &mut String) {
    match c {
        'Ǆ'..='ǆ' => out.push('ǅ'),
        'Ǉ'..='ǉ' => out.push('ǈ'),
        'Ǌ'..='ǌ' => out.push('ǋ'),
        'Ǳ'..='ǳ' => out.push('ǲ'),
        _ => {
            let mut upper = c.to_uppercase();
            out.extend(upper.next());
            out.extend(upper.flat_map(char::to_lowercase));
        }
    }
}

fn push_folded(c: char, out: &mut String) {
    match c {
        'ı' => out.push(c),
        _ => out.extend(c.to_uppercase().flat_map(char::to_lowercase)),
    }
}

pub(super) fn is_cased(c: char) -> bool {
    c.is_uppercase() || c.is_lowercase() || matches!(c, 'ǅ' | 'ǈ' | 'ǋ' | 'ǲ')
}
