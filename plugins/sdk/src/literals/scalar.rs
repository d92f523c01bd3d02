//! Numbers and words: which are JSON, and which are another spelling of it.

/// Words with a meaning, and their JSON.
const WORDS: [(&str, &str); 8] = [
    ("true", "true"),
    ("false", "false"),
    ("null", "null"),
    ("True", "true"),
    ("False", "false"),
    ("None", "null"),
    ("TRUE", "true"),
    ("FALSE", "false"),
];

/// Whether a number or word may begin with `text`, white space behind it included.
pub(super) fn may_begin(text: &[u8]) -> bool {
    let scalar = text.trim_ascii_end();
    let is_digit = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let is_number = scalar.first().is_none_or(|byte| byte.is_ascii_digit() || b"+-".contains(byte));
    (is_number && scalar.iter().all(is_digit))
        || WORDS.iter().any(|(word, _)| word.as_bytes().starts_with(scalar))
}

/// The JSON of a number or word; `None` if it is neither.
pub(super) fn json(text: &str) -> Option<&str> {
    if let Some((_, json)) = WORDS.iter().find(|(word, _)| *word == text) {
        return Some(json);
    }
    let number = text.strip_prefix('+').filter(|digits| !digits.starts_with('-')).unwrap_or(text);
    is_number(number.as_bytes()).then_some(number)
}

/// A number that begins with zeros, without them.
pub(super) fn without_zeros(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.strip_prefix('0')?.trim_start_matches('0');
    let zero = if digits.starts_with(|first: char| first.is_ascii_digit()) { "" } else { "0" };
    let number = [sign, zero, digits].concat();
    is_number(number.as_bytes()).then_some(number)
}

/// Whether this is a number as JSON spells it.
fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || (whole > 1 && text[0] == b'0') {
        return false;
    }
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    if let Some(exponent) = rest.strip_prefix(b"e").or(rest.strip_prefix(b"E")) {
        let exponent = exponent.strip_prefix(b"-").or(exponent.strip_prefix(b"+")).unwrap_or(exponent);
        let length = digits(exponent);
        return length > 0 && length == exponent.len();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::{json, may_begin, without_zeros};

    #[test]
    fn numbers_are_those_of_json() {
        for number in ["0", "-1", "10.5", "1e5", "1E+20", "1e-05", "-0.0"] {
            assert_eq!(json(number), Some(number));
        }
        assert_eq!(json("+1"), Some("1"));
        for other in
            ["", "-", "01", "1.", ".5", "1e", "1e+", "+-1", "++1", "1-2", "0x1", "1_000", "2026-01-02"]
        {
            assert_eq!(json(other), None, "{other}");
        }
    }

    #[test]
    fn zeros_before_a_number_are_left_out() {
        let numbers =
            [("07", "7"), ("-007", "-7"), ("+0012", "12"), ("00", "0"), ("00.5", "0.5"), ("00e1", "0e1")];
        for (zeros, number) in numbers {
            assert_eq!(without_zeros(zeros).as_deref(), Some(number), "{zeros}");
        }
        for other in ["", "7", "0x7", "-", "0-7", "07a", "-+07", "+-07"] {
            assert_eq!(without_zeros(other), None, "{other}");
        }
    }

    #[test]
    fn words_are_told_by_their_beginning() {
        for beginning in ["", "t", "Tru", "None", "None ", "12 ", "-1.5e"] {
            assert!(may_begin(beginning.as_bytes()), "{beginning}");
        }
        for other in ["to", "Nones", "1 2", "1a", "x", "New"] {
            assert!(!may_begin(other.as_bytes()), "{other}");
        }
    }
}
