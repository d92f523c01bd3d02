//! Paths in Rust sources, followed through modules. It reads only the part of the language that the
//! leaves use; code that it can't follow (globs, aliases, `include!`) is a violation by itself.

/// Crates that leaves may use.
const CRATES: [&str; 6] = ["std", "serde", "serde_json", "schemars", "bytes", "seeded"];
/// First segments of paths that are built-in types, or a tool's name.
const BUILT_IN: [&str; 10] = ["clippy", "u8", "u16", "u32", "u64", "usize", "i64", "f64", "str", "char"];

/// The module in the file `name`, a path below `src`.
pub(super) fn module_of(name: &str) -> Vec<String> {
    let name = name.strip_suffix(".rs").unwrap();
    name.split('/').filter(|part| *part != "mod").map(str::to_owned).collect()
}

/// The first path in the code of `module`, tests and comments apart, that leads out of the modules
/// `inside`; or code that could hide one.
pub(super) fn violation(module: &[String], source: &str, inside: &[Vec<String>]) -> Option<String> {
    let code = code(source);
    for word in ["include!", "extern crate", "#[path"] {
        if code.contains(word) {
            return Some(word.to_owned());
        }
    }
    if let Some(path) = made_by_macro(&code) {
        return Some(path.to_owned());
    }
    let (uses, rest) = split_uses(&code);
    let mut known = declared(&rest);
    let mut paths = Vec::new();
    for used in uses {
        if used.contains('*') || used.split_whitespace().any(|word| word == "as") {
            return Some(format!("use {used}"));
        }
        expand("", &used, &mut paths);
    }
    known.extend(paths.iter().map(|path| last(path)));
    paths.extend(written(&rest, &known));
    paths.into_iter().find(|path| !allowed(path, module, &declared(&rest), inside))
}

/// A path that a macro makes of its variables, which can't be followed.
fn made_by_macro(code: &str) -> Option<&str> {
    let of_path = |character: char| character.is_alphanumeric() || "_:$".contains(character);
    let mut paths = code.split(|character| !of_path(character));
    paths.find(|path| path.contains('$') && path.contains("::") && !path.starts_with("Self::$"))
}

/// The source without comments, tests, and `pub(in …)`, whose path is about visibility and refers
/// to no type.
fn code(source: &str) -> String {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = source.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut parts = code.split("pub(in ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |code, part| code + "pub " + part.split_once(')').map_or(part, |(_, rest)| rest))
}

/// The tree of each `use`, and the code without them.
fn split_uses(code: &str) -> (Vec<String>, String) {
    let (mut uses, mut rest) = (Vec::new(), String::new());
    for statement in code.split_inclusive(';') {
        let words: Vec<&str> = statement.split_whitespace().collect();
        match words.iter().position(|word| *word == "use") {
            Some(at) => {
                rest.extend([" ", &words[..at].join(" "), " "]);
                uses.push(words[at + 1..].join(" ").trim_end_matches(';').to_owned());
            }
            None => rest.push_str(statement),
        }
    }
    (uses, rest)
}

/// The paths of a tree such as `a::{b, c::{self, d}}`.
fn expand(before: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((head, inner)) = tree.split_once('{') else {
        if !tree.is_empty() {
            paths.push(format!("{before}{}", tree.strip_suffix("::self").unwrap_or(tree)));
        }
        return;
    };
    let inner = inner.strip_suffix('}').unwrap_or(inner);
    let (mut depth, mut begin) = (0, 0);
    for (at, character) in inner.char_indices().chain([(inner.len(), ',')]) {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = inner[begin..at].trim();
                let part = if part == "self" { "" } else { part };
                let before = format!("{before}{}", head.trim());
                if part.is_empty() && begin < at {
                    paths.push(before.trim_end_matches("::").to_owned());
                } else {
                    expand(&before, part, paths);
                }
                begin = at + 1;
            }
            _ => {}
        }
    }
}

/// Names of the modules that the code declares.
fn declared(code: &str) -> Vec<String> {
    let words: Vec<&str> = code.split_whitespace().collect();
    let modules = words.windows(2).filter(|pair| pair[0] == "mod");
    modules.map(|pair| pair[1].trim_end_matches([';', '{']).to_owned()).collect()
}

/// The paths of several segments in the code, except those that begin with a type, or with a name
/// in `known`.
fn written(code: &str, known: &[String]) -> Vec<String> {
    let of_path = |character: char| character.is_alphanumeric() || "_:".contains(character);
    let paths = code.split(|character| !of_path(character)).map(|path| path.trim_end_matches(':'));
    let paths = paths.filter(|path| path.contains("::"));
    let followed = |path: &&str| {
        let first = path.trim_start_matches(':').split("::").next().unwrap_or_default();
        let is_type = first.starts_with(char::is_uppercase) || first.is_empty();
        !is_type && !BUILT_IN.contains(&first) && !known.iter().any(|name| name == first)
    };
    paths.filter(followed).map(str::to_owned).collect()
}

fn last(path: &str) -> String {
    path.rsplit("::").next().unwrap_or_default().to_owned()
}

/// Whether a path stays in the modules `inside`, or leads to a crate in `CRATES`.
fn allowed(path: &str, module: &[String], declared: &[String], inside: &[Vec<String>]) -> bool {
    let mut at = module.to_vec();
    let mut segments = path.split("::").peekable();
    match segments.peek() {
        Some(&"crate") => {
            at.clear();
            segments.next();
        }
        Some(&("self" | "super")) => {}
        Some(first) if declared.iter().any(|name| name == first) => {}
        Some(first) => return CRATES.contains(first),
        None => return false,
    }
    for segment in segments {
        match segment {
            "self" => {}
            "super" => drop(at.pop()),
            name => at.push(name.to_owned()),
        }
    }
    inside.iter().any(|module| at.starts_with(module))
}
