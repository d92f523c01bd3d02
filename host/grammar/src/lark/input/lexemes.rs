//! The lexemes of a Lark definition. White space within a line and comments are skipped.

/// A lexeme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lexeme {
    /// Name of a rule or a terminal, with the `?` and `!` before it that only shape trees.
    Name(String),
    /// `"…"` with its flag, as written.
    Text(String),
    /// Regular expression: the text between the slashes, and the flags behind them.
    Regex(String, String),
    /// Count of a repetition.
    Number(u16),
    /// `%import` and the like, without the `%`.
    Directive(String),
    /// Punctuation.
    Sign(&'static str),
    /// The end of a line, or of several.
    Line,
}

/// Signs, the longer ones first.
const SIGNS: [&str; 16] = ["->", "..", ":", "|", "(", ")", "[", "]", "{", "}", "*", "+", "?", "~", ".", ","];

/// The lexemes of `text`.
///
/// # Errors
/// The text that is no lexeme, and its line.
pub(super) fn lexemes(text: &str) -> Result<Vec<Lexeme>, String> {
    let (mut lexemes, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if rest.starts_with('#') || rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        }
        if rest.is_empty() {
            return Ok(lexemes);
        }
        let Some((lexeme, bytes)) = lexeme(rest) else {
            let line = text[..text.len() - rest.len()].matches('\n').count() + 1;
            let word: String = rest.chars().take_while(|char| !char.is_whitespace()).take(16).collect();
            return Err(format!("line {line}: {word:?} isn't understood"));
        };
        if lexeme != Lexeme::Line || lexemes.last() != Some(&Lexeme::Line) {
            lexemes.push(lexeme);
        }
        rest = &rest[bytes..];
    }
}

/// The first lexeme of `text`, and its length in bytes.
fn lexeme(text: &str) -> Option<(Lexeme, usize)> {
    let run = |from: usize, is_in: fn(char) -> bool| {
        from + text[from..].find(|char| !is_in(char)).unwrap_or(text.len() - from)
    };
    let is_word = |char: char| char.is_ascii_alphanumeric() || "_-".contains(char);
    match text.as_bytes()[0] {
        b'\n' | b'\r' => Some((Lexeme::Line, run(0, |char| "\r\n \t".contains(char)))),
        b'"' => string(text),
        b'/' => regex(text),
        b'0'..=b'9' => {
            let end = run(0, |char| char.is_ascii_digit());
            Some((Lexeme::Number(text[..end].parse().ok()?), end))
        }
        b'%' => {
            let end = run(1, |char| char.is_ascii_alphabetic());
            Some((Lexeme::Directive(text[1..end].to_owned()), end))
        }
        _ => {
            let marks = run(0, |char| "!?".contains(char));
            let end = run(marks, is_word);
            if is_name(&text[marks..end]) {
                return Some((Lexeme::Name(text[..end].to_owned()), end));
            }
            let sign = SIGNS.into_iter().find(|sign| text.starts_with(sign))?;
            Some((Lexeme::Sign(sign), sign.len()))
        }
    }
}

/// Whether `word` is a name of a rule or a terminal, whose letters are all of one case.
fn is_name(word: &str) -> bool {
    let letters = word.strip_prefix('_').unwrap_or(word);
    letters.starts_with(|char: char| char.is_ascii_alphabetic())
        && !(letters.contains(|char: char| char.is_ascii_lowercase())
            && letters.contains(|char: char| char.is_ascii_uppercase()))
}

fn string(text: &str) -> Option<(Lexeme, usize)> {
    let mut chars = text.char_indices().skip(1);
    loop {
        match chars.next()? {
            (at, '"') => {
                let end = at + 1 + usize::from(text[at + 1..].starts_with('i'));
                return Some((Lexeme::Text(text[..end].to_owned()), end));
            }
            (at, '\\') => {
                let digits = match chars.next()?.1 {
                    '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => 0,
                    'x' => 2,
                    'u' => 4,
                    _ => return None,
                };
                let escape = text.get(at + 2..at + 2 + digits)?;
                if !escape.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return None;
                }
            }
            (_, char) if char.is_ascii_control() => return None,
            _ => {}
        }
    }
}

fn regex(text: &str) -> Option<(Lexeme, usize)> {
    let mut chars = text.char_indices().skip(1);
    let end = loop {
        match chars.next()? {
            (at, '/') => break at,
            (_, '\\') if chars.next()?.1 == '\n' => return None,
            _ => {}
        }
    };
    let flags: String = text[end + 1..].chars().take_while(|char| "imslux".contains(*char)).collect();
    let bytes = end + 1 + flags.len();
    (end > 1).then(|| (Lexeme::Regex(text[1..end].to_owned(), flags), bytes))
}
