//! Parts of a literal that may be tokens.

/// Whether a part of a literal may be a token.
pub(super) fn is_token(part: &str) -> bool {
    part.starts_with(['<', '[']) && part.len() > 1
}

/// The beginning of a literal that may be one token: `<…>`, `[…]`, or the text before such. Quotes
/// don't belong to a tag that goes on.
#[inline(never)]
pub(super) fn token(literal: &str) -> &str {
    let end = match literal.as_bytes().first() {
        Some(b'<') => literal.find('>').map(|at| at + 1).or_else(|| literal.find(['"', '\''])),
        Some(b'[') => literal.find(']').map(|at| at + 1),
        _ => literal.find(['<', '[']),
    };
    &literal[..end.unwrap_or(literal.len())]
}

/// The parts of a literal that may be one token each, and the text between them.
pub(super) fn parts(literal: &str) -> impl Iterator<Item = &str> {
    let mut rest = literal;
    std::iter::from_fn(move || {
        let part = (!rest.is_empty()).then(|| token(rest))?;
        rest = &rest[part.len()..];
        Some(part)
    })
}
