//! Regular expressions in a definition: those that a grammar engine without look-around can't
//! express are refused here.
//!
//! The engine parses the others, in Rust's syntax. Each is one terminal, so it can't reach what
//! stands around it.

/// Checks brackets and constructs.
///
/// # Errors
/// What is wrong.
pub(super) fn check(text: &str) -> Result<(), String> {
    let error = |what: &str| Err(format!("the regular expression {:?} {what}", shortened(text)));
    if text.is_empty() {
        return error("is empty");
    }
    let (mut groups, mut classes) = (0_usize, 0_usize);
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        rest = &rest[char.len_utf8()..];
        match char {
            '\\' => match rest.chars().next() {
                None => return error("ends in a backslash"),
                Some('1'..='9' | 'b' | 'B' | 'A' | 'z' | 'Z' | 'G' | 'k' | '<' | '>') if classes == 0 => {
                    return error("looks around or back, which grammars can't");
                }
                Some(escaped) => rest = &rest[escaped.len_utf8()..],
            },
            '[' => {
                classes += 1;
                rest = rest.strip_prefix('^').unwrap_or(rest);
                rest = rest.strip_prefix(']').unwrap_or(rest);
            }
            ']' if classes > 0 => classes -= 1,
            '(' if classes == 0 => {
                if ["?=", "?!", "?<=", "?<!"].into_iter().any(|around| rest.starts_with(around)) {
                    return error("looks around or back, which grammars can't");
                }
                if rest.starts_with("?P<stop>") || rest.starts_with("?<stop>") {
                    return error("has a group named stop, a word of the grammar engine's own");
                }
                groups += 1;
            }
            ')' if classes == 0 && groups == 0 => return error("closes a group that isn't open"),
            ')' if classes == 0 => groups -= 1,
            _ => {}
        }
    }
    if groups + classes > 0 { error("leaves a bracket open") } else { Ok(()) }
}

/// The expression as it is written between slashes.
pub(super) fn between_slashes(text: &str) -> String {
    let (mut written, mut escaped) = (String::with_capacity(text.len()), false);
    for char in text.chars() {
        match char {
            // The lexer of grammars accepts no line feed after a backslash.
            '\n' if escaped => written.push('n'),
            '/' if !escaped => written.push_str("\\/"),
            _ => written.push(char),
        }
        escaped = char == '\\' && !escaped;
    }
    written
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}
