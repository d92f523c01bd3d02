//! Names from a request, made safe for messages to the client and for logs.

/// Most characters of a name that are kept.
const MAX_NAME: usize = 64;

/// `name` cut to `MAX_NAME` characters, with `?` for all but plain ASCII.
pub(crate) fn printable(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_graphic() && !matches!(c, '"' | '\\' | ',') { c } else { '?' };
    name.chars().take(MAX_NAME).map(plain).collect()
}
