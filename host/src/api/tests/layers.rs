//! The two layers of event code, read off the sources: leaves take plain values only, so that whatever runs tools or stores
//! responses can build the same events, and only leaves spell event types.

use std::path::{Path, PathBuf};

/// Rooms and types that leaves mustn't know.
const FORBIDDEN: [&str; 12] = [
    "crate::",
    "engine::",
    "host::",
    "TurnEvent",
    "ItemHead",
    "ItemStatus",
    "TurnEnd",
    "TurnFailure",
    "Payload",
    "StreamParser",
    "Machine",
    "Job",
];

/// What leaves may take of the protocols' common room.
const SHARED: [&str; 3] = ["super::super::frames::", "super::super::obfuscation::", "super::super::schema::"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api/responses")
}

fn sources(paths: Vec<PathBuf>) -> Vec<(String, String)> {
    let read = |path: PathBuf| {
        let name = path.strip_prefix(folder()).unwrap().display().to_string();
        (name, std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    };
    paths.into_iter().map(read).collect()
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// Leaf builders: all of `events`, and what they are built of.
fn leaves() -> Vec<(String, String)> {
    let mut paths = files_of(&folder().join("events"));
    paths
        .extend(["items.rs", "resource.rs", "written.rs", "hosted/items.rs"].map(|name| folder().join(name)));
    sources(paths)
}

/// The first line of code, tests and comments apart, that knows what a leaf mustn't know.
fn forbidden(source: &str) -> Option<&str> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().find(|line| {
        let line = line.trim_start();
        let outside = line.starts_with("use super::super::")
            && !SHARED.iter().any(|shared| line.starts_with(&format!("use {shared}")))
            && !line.starts_with("use super::super::items::");
        !line.starts_with("//") && (outside || FORBIDDEN.iter().any(|word| line.contains(word)))
    })
}

#[test]
fn leaf_builders_take_plain_values_only() {
    let leaves = leaves();
    assert!(leaves.len() >= 7, "{} files of leaves: where are they?", leaves.len());
    for (name, source) in leaves {
        assert_eq!(forbidden(&source), None, "{name} knows more than plain values");
    }
}

#[test]
fn a_leaf_that_knew_a_turn_or_a_parser_would_be_noticed() {
    for line in [
        "use crate::turn::Usage;",
        "use crate::parser::contract::Phase;",
        "pub(super) fn opened(head: &ItemHead) -> Event<()> {",
        "use super::super::ids::Ids;",
    ] {
        assert_eq!(forbidden(&format!("//! A leaf.\n\n{line}\n")), Some(line));
    }
    assert_eq!(forbidden("// crate::turn is a comment\nuse super::super::frames::Frames;\n"), None);
}

#[test]
fn only_leaves_spell_event_types() {
    let spelt =
        |source: &str| source.lines().find(|line| line.contains("kind: \"response.")).map(str::to_owned);
    assert!(leaves().iter().any(|(_, source)| spelt(source).is_some()));
    let leaf = |name: &str| name.starts_with("events");
    for (name, source) in sources(files_of(&folder())).into_iter().filter(|(name, _)| !leaf(name)) {
        assert_eq!(spelt(&source), None, "{name} builds an event by itself");
    }
}
