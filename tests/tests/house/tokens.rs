//! Rust source as tokens: words, `::`, strings and single characters, without comments and what only
//! tests compile. Enough to read modules, imports and paths.

/// The tokens of what a product build compiles in `source`.
pub(crate) fn product_tokens(source: &str) -> Vec<&str> {
    without_tests(&tokens(source))
}

/// All tokens of `source`; a string is kept with its quotes (a `path` attribute needs it).
fn tokens(source: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = source.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => string(rest),
            'b' | 'c' | 'r' if raw_string(rest).is_some() => raw_string(rest).expect("just found"),
            '\'' => character(rest),
            ':' if rest.starts_with("::") => 2,
            _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        if !rest.starts_with("//") && !rest.starts_with("/*") && first != '\'' {
            tokens.push(&rest[..length]);
        }
        rest = rest[length..].trim_start();
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    loop {
        match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
}

fn string(rest: &str) -> usize {
    let mut escaped = false;
    let end = rest.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.expect("a string ends") + 2
}

/// The length of `r"…"`, `br#"…"#` and `b"…"`, if `rest` starts with one.
fn raw_string(rest: &str) -> Option<usize> {
    let prefix = rest.find(|c| !"bcr".contains(c))?;
    let hashes = rest[prefix..].find(|c| c != '#')?;
    let quoted = &rest[prefix + hashes..];
    if !quoted.starts_with('"') {
        return None;
    }
    if !rest[..prefix].contains('r') {
        return (hashes == 0).then(|| prefix + string(quoted));
    }
    let close = format!("\"{}", "#".repeat(hashes));
    Some(prefix + hashes + 1 + quoted[1..].find(&close)? + close.len())
}

/// The length of a character; of a lifetime, its quote's.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => 3 + rest[3..].find('\'').expect("a character ends"),
        Some((_, c)) if rest[1 + c.len_utf8()..].starts_with('\'') => 2 + c.len_utf8(),
        _ => 1,
    }
}

fn without_tests<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            at += 1 + group(&tokens[at + 1..]);
            at += item(&tokens[at..]);
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

fn is_test_attribute(tokens: &[&str]) -> bool {
    match tokens {
        ["#", "[", "test", "]", ..] | ["#", "[", "cfg", "(", "test", ..] => true,
        ["#", "[", "cfg", "(", "all", "(", rest @ ..] => {
            rest.iter().take_while(|token| !")(".contains(**token)).any(|token| *token == "test")
        }
        _ => false,
    }
}

/// How many tokens the group has that `tokens` opens with.
pub(crate) fn group(tokens: &[&str]) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        depth += match *token {
            "(" | "[" | "{" => 1,
            ")" | "]" | "}" => -1,
            _ => 0,
        };
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// How many tokens the item has that `tokens` opens with: to its semicolon or its block; those of a
/// field or an arm to its comma.
fn item(tokens: &[&str]) -> usize {
    const ITEMS: [&str; 16] = [
        "#", "pub", "fn", "async", "unsafe", "const", "mod", "impl", "use", "struct", "enum", "trait",
        "static", "type", "extern", "let",
    ];
    let is_item = tokens.first().is_some_and(|first| ITEMS.contains(first));
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at] {
            ";" => return at + 1,
            "," if !is_item => return at + 1,
            "}" | ")" | "]" => return at,
            "{" => return at + group(&tokens[at..]),
            "(" | "[" => at += group(&tokens[at..]),
            _ => at += 1,
        }
    }
    at
}
