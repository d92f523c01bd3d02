//! Common beginnings and ends of delimiters, cut where a token may begin: never inside `<…>`,
//! `[…]` or a word.

/// Longest tag, in bytes.
const TAG: usize = 80;

/// The longest common beginning that ends at a boundary of both.
pub(super) fn common_start<'a>(one: &'a str, other: &str) -> &'a str {
    let pairs = one.char_indices().zip(other.chars());
    let differs = pairs.clone().find(|((_, a), b)| a != b).map(|((at, _), _)| at);
    let mut end = differs.unwrap_or_else(|| one.len().min(other.len()));
    while !(is_boundary(one, end) && is_boundary(other, end)) {
        end = one[..end].char_indices().next_back().map_or(0, |(at, _)| at);
    }
    &one[..end]
}

/// The longest common end that begins at a boundary of both.
pub(super) fn common_end<'a>(one: &'a str, other: &str) -> &'a str {
    let pairs = one.chars().rev().zip(other.chars().rev());
    let mut bytes: usize = pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    while !(is_boundary(one, one.len() - bytes) && is_boundary(other, other.len() - bytes)) {
        let first = one[one.len() - bytes..].chars().next();
        bytes -= first.map_or(0, char::len_utf8);
    }
    &one[one.len() - bytes..]
}

/// The longest common end of all of these texts.
pub(super) fn common_end_of<'a>(texts: &[&'a str]) -> &'a str {
    texts
        .split_first()
        .map_or("", |(first, rest)| rest.iter().fold(*first, |end, text| common_end(end, text)))
}

/// Whether a token may begin at this place.
fn is_boundary(text: &str, at: usize) -> bool {
    let (before, behind) = text.split_at(at);
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let (Some(last), Some(next)) = (before.chars().next_back(), behind.chars().next()) else { return true };
    let is_in_word = is_word(last) && is_word(next);
    let is_in_tag =
        [('<', '>'), ('[', ']')].iter().any(|(open, close)| is_inside(before, behind, *open, *close));
    !is_in_word && !is_in_tag
}

/// Whether a tag that is open in `before` closes in `behind`. JSON's brackets are no tags.
fn is_inside(before: &str, behind: &str, open: char, close: char) -> bool {
    let Some(at) = before.rfind(open) else { return false };
    let Some(end) = behind.find(close) else { return false };
    let (head, tail) = (&before[at + open.len_utf8()..], &behind[..end]);
    let is_plain = |part: &str| !part.contains([open, close, '{', '}', '"', '\n']);
    head.len() + tail.len() <= TAG
        && is_plain(head)
        && is_plain(tail)
        && !(head.is_empty() && tail.is_empty())
}

/// The last tag of a text and what stands behind it, if that is white space.
pub(super) fn last_tag(text: &str) -> Option<&str> {
    let end = text.trim_end();
    let open = match end.chars().next_back()? {
        '>' => '<',
        ']' => '[',
        _ => return None,
    };
    let at = end.rfind(open).filter(|at| end.len() - at <= TAG)?;
    Some(&text[at..])
}

/// The first tag of a text, with white space before it.
pub(super) fn first_tag(text: &str) -> Option<&str> {
    let begin = text.trim_start();
    let close = match begin.chars().next()? {
        '<' => '>',
        '[' => ']',
        _ => return None,
    };
    let end = begin.find(close).filter(|end| *end <= TAG)?;
    Some(&text[..text.len() - begin.len() + end + close.len_utf8()])
}

/// The tag that closes this one, as formats usually spell it: `</think>`, `[/THINK]`.
pub(super) fn closing(tag: &str) -> Option<String> {
    let open = tag.chars().next().filter(|char| "<[".contains(*char))?;
    let name = &tag[open.len_utf8()..];
    let closes = name.starts_with('/') || name.contains("END_");
    match name.find("START_") {
        _ if closes => None,
        Some(_) => Some(tag.replacen("START_", "END_", 1)),
        None => Some(format!("{open}/{name}")),
    }
}
