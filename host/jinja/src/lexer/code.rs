//! Tokens inside `{{ … }}` and `{% … %}`.

use super::literals::{digits_len, integer, unescape};
use super::{Lexer, TokenKind};
use crate::error::Result;
use crate::strings::{is_space, is_word};

/// Operators, longer ones first.
const OPERATORS: [&str; 27] = [
    "**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<",
    "=", ".", ":", "|", ",", ";", "!",
];

impl Lexer<'_> {
    /// Tokens up to and including the end of the tag, which `close` spells.
    pub(super) fn code(&mut self, close: &str, end: TokenKind) -> Result<()> {
        let mut brackets: Vec<char> = Vec::new();
        loop {
            let rest = self.rest();
            let (sign, unsigned) = match rest.strip_prefix(['-', '+']) {
                Some(unsigned) if unsigned.starts_with(close) => (rest.chars().next(), unsigned),
                _ => (None, rest),
            };
            // `+}}` is an operator and an end.
            let is_plus_variable = sign == Some('+') && close == "}}";
            if brackets.is_empty() && unsigned.starts_with(close) && !is_plus_variable {
                self.push(end);
                self.end_of_code(close, sign);
                return Ok(());
            }
            let Some(c) = rest.chars().next() else {
                // What follows decides what is missing; the parser says so.
                return Ok(());
            };
            self.token(c, &mut brackets)?;
        }
    }

    fn end_of_code(&mut self, close: &str, sign: Option<char>) {
        if let Some(sign) = sign {
            self.advance(sign.len_utf8());
        }
        if close == "}}" && sign.is_none() {
            self.advance(2);
        } else {
            self.close_tag(sign);
        }
    }

    fn token(&mut self, c: char, brackets: &mut Vec<char>) -> Result<()> {
        let rest = self.rest();
        if is_space(c) {
            self.advance(rest.len() - rest.trim_start_matches(is_space).len());
        } else if c.is_ascii_digit() {
            self.number()?;
        } else if is_word(c) {
            let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            self.push(TokenKind::Name(rest[..len].to_owned()));
            self.advance(len);
        } else if matches!(c, '\'' | '"') && string_len(rest).is_some() {
            let len = string_len(rest).unwrap_or_default();
            let string = unescape(&rest[1..len - 1]).or_else(|reason| self.fail(reason))?;
            self.push(TokenKind::String(string));
            self.advance(len);
        } else {
            let Some(operator) = OPERATORS.iter().find(|operator| rest.starts_with(**operator)) else {
                return self.fail(format!("unexpected char {c:?}"));
            };
            self.balance(c, brackets)?;
            self.push(TokenKind::Operator(operator));
            self.advance(operator.len());
        }
        Ok(())
    }

    fn balance(&self, c: char, brackets: &mut Vec<char>) -> Result<()> {
        match c {
            '{' => brackets.push('}'),
            '(' => brackets.push(')'),
            '[' => brackets.push(']'),
            '}' | ')' | ']' => match brackets.pop() {
                None => return self.fail(format!("unexpected '{c}'")),
                Some(expected) if expected != c => {
                    return self.fail(format!("unexpected '{c}', expected '{expected}'"));
                }
                Some(_) => {}
            },
            _ => {}
        }
        Ok(())
    }

    fn number(&mut self) -> Result<()> {
        let rest = self.rest();
        let after_dot = self.source[..self.at].ends_with('.');
        if let Some(len) = float_len(rest).filter(|_| !after_dot) {
            let number = rest[..len].replace('_', "").parse().or_else(|_| self.fail("invalid number"))?;
            self.push(TokenKind::Float(number));
            self.advance(len);
            return Ok(());
        }
        let Some((len, number)) = integer(rest) else { return self.fail("an integer has too many digits") };
        self.push(TokenKind::Integer(number));
        self.advance(len);
        Ok(())
    }
}

/// Length of the string that `text` begins with, quotes included; `None` if it isn't closed.
fn string_len(text: &str) -> Option<usize> {
    let quote = text.as_bytes().first()?;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == *quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Length of the float that `text` begins with: digits, and a fraction or an exponent or both.
fn float_len(text: &str) -> Option<usize> {
    let digits = |text: &str| digits_len(text, u8::is_ascii_digit);
    let whole = digits(text);
    let fraction = text[whole..].strip_prefix('.').map_or(0, digits);
    let mut len = if fraction > 0 { whole + 1 + fraction } else { whole };
    if let Some(exponent) = text[len..].strip_prefix(['e', 'E']) {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits(unsigned) > 0 {
            len = text.len() - unsigned.len() + digits(unsigned);
        }
    }
    (len > whole).then_some(len)
}
