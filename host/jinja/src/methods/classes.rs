//! Methods that ask which characters a string has.

use unicode_general_category::{GeneralCategory, get_general_category};

use super::cases::is_cased;
use crate::strings::{is_printable, is_space};

/// Whether `name` holds for the string.
pub(super) fn holds(string: &str, name: &str) -> bool {
    let all = |is: fn(char) -> bool| !string.is_empty() && string.chars().all(is);
    match name {
        "isalnum" => all(|c| c.is_alphabetic() && is_letter(c) || is_numeric(c)),
        "isalpha" => all(is_letter),
        "isascii" => string.is_ascii(),
        "isdecimal" => all(|c| get_general_category(c) == GeneralCategory::DecimalNumber),
        "isdigit" => all(is_digit),
        "isnumeric" => all(is_numeric),
        "isidentifier" => {
            let starts = |c: char| {
                is_letter(c) || c == '_' || get_general_category(c) == GeneralCategory::LetterNumber
            };
            string.chars().next().is_some_and(starts) && string.chars().all(crate::strings::is_word)
        }
        "isprintable" => string.chars().all(is_printable),
        "isspace" => all(is_space),
        "islower" | "isupper" => holds_case(string, name == "islower"),
        "istitle" => is_title(string),
        _ => false,
    }
}

/// Whether the string has letters of one case and none of the other.
pub(crate) fn holds_case(string: &str, is_lower: bool) -> bool {
    let has = |is: fn(char) -> bool| string.chars().any(is);
    has(char::is_lowercase) == is_lower && has(char::is_uppercase) != is_lower
}

fn is_letter(c: char) -> bool {
    use GeneralCategory as Category;
    matches!(
        get_general_category(c),
        Category::UppercaseLetter
            | Category::LowercaseLetter
            | Category::TitlecaseLetter
            | Category::ModifierLetter
            | Category::OtherLetter
    )
}

fn is_numeric(c: char) -> bool {
    c.is_numeric()
}

/// Decimal digits, and digits such as superscripts.
fn is_digit(c: char) -> bool {
    get_general_category(c) == GeneralCategory::DecimalNumber
        || matches!(c, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' | '₀'..='₉' | '①'..='⑨' | '⑴'..='⑼' | '⒈'..='⒐' | '⓪' | '⓵'..='⓽' | '⓿' | '❶'..='❾' | '➀'..='➈' | '➊'..='➒')
}

/// Whether words begin with upper case and go on in lower case, and there is a word.
fn is_title(string: &str) -> bool {
    let (mut after_letter, mut has_letter) = (false, false);
    for c in string.chars() {
        let is_upper = c.is_uppercase() || matches!(c, 'ǅ' | 'ǈ' | 'ǋ' | 'ǲ');
        if (is_upper && after_letter) || (c.is_lowercase() && !after_letter) {
            return false;
        }
        after_letter = is_cased(c);
        has_letter |= after_letter;
    }
    has_letter
}
