//! Test of the two layers of event code, which reads the sources: leaves take plain values only, so
//! that code that runs tools or stores responses can build the same events, and only leaves contain
//! the event types.
//!
//! Names of types prove nothing, since a type can have several. So the test follows paths: leaves,
//! and the few modules below them, refer only to each other and to a few crates, whether by `use`
//! or by a path in the code, an attribute or a string.

mod paths;

use std::path::{Path, PathBuf};

use paths::{module_of, violation};

/// Modules in `src/api` that leaves may use.
const BELOW: [&str; 4] = ["event_buffer.rs", "obfuscation.rs", "raw.rs", "schema.rs"];
/// Leaves in `src/api/responses`; all of `events` are leaves, too.
const LEAVES: [&str; 6] =
    ["items.rs", "status.rs", "resource.rs", "open_item.rs", "hosted/items.rs", "typed/items.rs"];

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn responses() -> PathBuf {
    sources().join("responses")
}

/// Each file's path below `src`, and its text.
fn read(paths: Vec<PathBuf>) -> Vec<(String, String)> {
    let read = |path: PathBuf| {
        let name = path.strip_prefix(sources()).unwrap().display().to_string();
        (name, std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    };
    paths.into_iter().map(read).collect()
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// Leaf builders, and the modules that they may use.
fn leaves() -> Vec<(String, String)> {
    let mut paths = files_of(&responses().join("events"));
    paths.extend(LEAVES.map(|name| responses().join(name)));
    paths.extend(BELOW.map(|name| sources().join(name)));
    read(paths)
}

/// The modules of the leaves.
fn modules(leaves: &[(String, String)]) -> Vec<Vec<String>> {
    leaves.iter().map(|(name, _)| module_of(name)).collect()
}

#[test]
fn leaf_builders_take_plain_values_only() {
    let leaves = leaves();
    assert!(leaves.len() >= 10, "{} files of leaves: where are they?", leaves.len());
    let inside = modules(&leaves);
    for (name, source) in &leaves {
        assert_eq!(violation(&module_of(name), source, &inside), None, "{name} knows more than plain values");
    }
}

/// The violation in a leaf that has this line, if it is one.
fn violation_of(line: &str) -> Option<String> {
    let source =
        format!("//! A leaf.\n\nuse super::At;\n{line}\n#[cfg(test)]\nmod tests {{ use turn::Turn; }}\n");
    violation(&module_of("responses/events/message.rs"), &source, &modules(&leaves()))
}

#[test]
fn leaf_that_knows_a_turn_or_parser_is_noticed() {
    for line in [
        "use turn::Usage;",
        "use turn as t;",
        "use {turn::Usage as U};",
        "pub(super) use ::turn::ItemHead;",
        "use crate::responses::machine::{self, ResponsesMachine};",
        "use crate::responses::{items, machine::ResponsesMachine};",
        "use crate::responses::items::{\n    Item as T,\n};",
        "use super::*;",
        "use super::super::super::ids::Ids;",
        "use engine::Token;",
        "use ::turn::Usage;",
        "extern crate engine as e;",
        "pub(in crate::responses) type Head = ::turn::ItemHead;",
        "fn opened(head: &turn::ItemHead) {}",
        "fn token(token: engine::Token) {}",
        "#[serde(serialize_with = \"turn::write\")]",
        "include!(\"../machine.rs\");",
        "macro_rules! m { ($of:ident) => { fn f(_: $of::Usage) {} } }",
        "macro_rules! m { () => { fn f(_: $crate::machine::Machine) {} } }",
        "macro_rules! m { ($of:ty) => { fn f(_: $of) {} } }\nm! { turn::Usage }",
    ] {
        assert!(violation_of(line).is_some(), "{line}");
    }
}

#[test]
fn leaves_may_know_leaves_and_what_they_are_built_of() {
    for line in [
        "use crate::responses::items::{Item, Status};",
        "use super::super::super::{event_buffer::EventBuffer, schema::tagged};",
        "use crate::event_buffer::EventBuffer;",
        "use std::fmt;\nfn f(x: fmt::Error) { let _ = (u8::from(true), Self::new(), serde_json::json!(1)); }",
        "pub(in crate::responses) fn f(number: u32) -> u8 { number as u8 }",
        "// turn::Usage is a comment",
        "let x = 1; // and so is turn::Usage",
        "macro_rules! m { ($one:ident: $of:ty) => { fn f(_: $of) -> Kind { Self::$one } } }\nm! { A: &str }",
    ] {
        assert_eq!(violation_of(line), None, "{line}");
    }
}

#[test]
fn only_leaves_spell_event_types() {
    let spelt =
        |source: &str| source.lines().find(|line| line.contains("kind: \"response.")).map(str::to_owned);
    assert!(leaves().iter().any(|(_, source)| spelt(source).is_some()));
    for (name, source) in read(files_of(&responses())) {
        assert_eq!(spelt(&source), None, "{name} builds an event by itself");
    }
}
