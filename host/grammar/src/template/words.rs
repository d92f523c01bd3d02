//! The words of a rule's body, and how they are written.

use crate::lark::{Part, literal};

/// A word of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    /// Exactly this text, as Lark quotes it, without the quotes.
    Text(String),
    /// Name of a hole, or of a rule of the template.
    Name(String),
    /// An operator, a bracket, a regular expression, or an expression that fills a hole.
    Other(String),
}

impl Word {
    /// Exactly this text.
    pub(crate) fn literal(text: &str) -> Self {
        Self::of_quoted(&literal(text)).unwrap_or_else(|| Self::Other(literal(text)))
    }

    fn of_quoted(lark: &str) -> Option<Self> {
        // `"a".."f"` is a range of characters, and `"a"i` no exact text.
        let inner = lark.strip_prefix('"')?.strip_suffix('"').filter(|inner| !inner.contains("\"..\""))?;
        Some(Self::Text(inner.to_owned()))
    }

    pub(crate) fn is_name(&self, name: &str) -> bool {
        matches!(self, Self::Name(own) if own == name)
    }

    /// Whether the word is an operator that applies to the word before it.
    fn binds(&self) -> bool {
        matches!(self, Self::Other(word) if ["?", "*", "+"].contains(&word.as_str()) || word.starts_with('{'))
    }
}

impl From<Part> for Word {
    fn from(part: Part) -> Self {
        match part {
            Part::Name(name) => Self::Name(name),
            Part::Lark(lark) => Self::of_quoted(&lark).unwrap_or(Self::Other(lark)),
        }
    }
}

/// A Lark expression of these words. Texts side by side become one, so that the lexer has one
/// lexeme to read; `name` writes names.
pub(crate) fn written(words: &[Word], name: impl Fn(&str) -> String) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut is_text = false;
    for (at, word) in words.iter().enumerate() {
        let is_bound = words.get(at + 1).is_some_and(Word::binds);
        match (word, parts.last_mut()) {
            (Word::Text(text), Some(before)) if is_text && !is_bound => {
                before.truncate(before.len() - 1);
                before.push_str(text);
                before.push('"');
            }
            (Word::Text(text), _) => parts.push(format!("\"{text}\"")),
            (Word::Name(word), _) => parts.push(name(word)),
            (Word::Other(word), _) => parts.push(word.clone()),
        }
        is_text = matches!(word, Word::Text(_)) && !is_bound;
    }
    parts.join(" ")
}

/// [`written`], in brackets where there are alternatives, so that it can stand among other words.
pub(crate) fn grouped(words: &[Word], name: impl Fn(&str) -> String) -> String {
    let expression = written(words, name);
    let has_alternatives = words.iter().any(|word| matches!(word, Word::Other(word) if word == "|"));
    if has_alternatives { format!("({expression})") } else { expression }
}

/// Cuts a body around its holes: the words before them, those with them, and those behind them.
/// Brackets, and texts that touch a hole, stay whole.
pub(crate) fn around_holes(words: &[Word], is_hole: impl Fn(&str) -> bool) -> [&[Word]; 3] {
    let is_hole = |word: &Word| matches!(word, Word::Name(name) if is_hole(name));
    let (first, last) = (words.iter().position(is_hole), words.iter().rposition(is_hole));
    let (mut depth, mut begin, mut end) = (0_usize, 0, words.len());
    for (at, word) in words.iter().enumerate() {
        let is_cut = depth == 0 && !word.binds();
        if is_cut
            && first.is_some_and(|first| at <= first)
            && !matches!(words[..at].last(), Some(Word::Text(_)))
        {
            begin = at;
        }
        if is_cut
            && end == words.len()
            && last.is_some_and(|last| at > last)
            && !matches!(word, Word::Text(_))
        {
            end = at;
        }
        match word {
            Word::Other(sign) if ["(", "["].contains(&sign.as_str()) => depth += 1,
            Word::Other(sign) if [")", "]"].contains(&sign.as_str()) => depth = depth.saturating_sub(1),
            Word::Other(sign) if sign == "|" && depth == 0 => return [&[], words, &[]],
            _ => {}
        }
    }
    [&words[..begin], &words[begin..end], &words[end..]]
}
