//! Names that a request gave, as they may be said back.

/// Characters of a name that came from the request.
const MAX_NAME: usize = 64;

/// A name of the request, cut short and without anything but plain ASCII.
pub(crate) fn printable(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_graphic() && !matches!(c, '"' | '\\' | ',') { c } else { '?' };
    name.chars().take(MAX_NAME).map(plain).collect()
}
