//! Places that list the shipped parsers by hand: the registry, and none beside it. A place is a file
//! outside the parsers' folders that names at least half of them; what a test or a program writes into it
//! doesn't count.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use registry::{FORMATS, INTERPRETER};

/// The places, of which a new parser needs each.
const PLACES: [&str; 2] = ["plugins/registry/Cargo.toml", "plugins/registry/list.rs"];
/// Records of what was, which nobody must keep up, and which parsers are examples of in prose.
const RECORDS: [&str; 5] = [
    "CHANGELOG.md",
    "docs/bench/README.md",
    "docs/writing-a-parser.md",
    "tests/peers/parsers/peers.json",
    "tests/tests/grammars/masks.txt",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn parsers() -> BTreeSet<&'static str> {
    FORMATS.iter().map(|format| format.name).chain([INTERPRETER.name]).collect()
}

/// Paths of the files that git knows; none where the sources lie outside a repository.
fn files() -> Vec<String> {
    if !root().join(".git").exists() {
        return Vec::new();
    }
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().expect("git runs");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let paths = String::from_utf8(listed.stdout).expect("paths are text");
    paths.split_terminator('\0').map(str::to_owned).collect()
}

/// The text without tables that a test writes.
fn by_hand(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some((before, table)) = rest.split_once(" -->\n|") {
        kept.push_str(before);
        rest = table.split_once("<!-- end -->").map_or("", |(_, after)| after);
    }
    kept + rest
}

/// Number of parsers that the text names, whatever joins the parts of a name.
fn named(text: &str) -> usize {
    let parsers = parsers();
    let text = by_hand(text);
    let words = text.split(|char: char| !char.is_ascii_alphanumeric() && char != '-' && char != '_');
    let names = words.filter_map(|word| {
        let name = word.replace('_', "-").to_ascii_lowercase();
        parsers.get(name.trim_matches('-').trim_end_matches("-parser")).copied()
    });
    names.collect::<BTreeSet<_>>().len()
}

fn is_counted(path: &str) -> bool {
    let is_own = parsers().iter().any(|name| path.starts_with(&format!("plugins/{name}/")));
    !is_own && !path.ends_with("Cargo.lock") && !RECORDS.contains(&path)
}

#[test]
fn registry_alone_lists_the_parsers() {
    let files = files();
    let text = |path: &str| std::fs::read_to_string(root().join(path)).unwrap_or_default();
    let lists = |path: &&String| is_counted(path) && 2 * named(&text(path)) >= parsers().len();
    let places: Vec<&String> = files.iter().filter(lists).collect();
    assert!(files.is_empty() || places == PLACES, "parsers are listed in {places:?}: use the registry");
}

#[test]
fn lists_are_noticed_and_written_tables_are_none() {
    let names: Vec<&str> = parsers().into_iter().collect();
    assert_eq!(named(&names.join(" ")), names.len());
    assert_eq!(named(&format!("{}-parser = 1", names.join("-parser = 1\n").replace('-', "_"))), names.len());
    assert_eq!(named("const QWEN3_CODER, KIMI_K3, [MUSE]"), 3);
    assert_eq!(named("qwen3-coder-next, qwen3.5, unqwen3"), 1, "qwen3 alone");
    assert_eq!(named(&format!("<!-- parsers -->\n| {} |\n<!-- end -->\nmuse", names.join(" | "))), 1);
}

#[test]
fn every_component_and_table_is_registered() {
    let named = |ending: &str, folder: PathBuf| -> BTreeSet<String> {
        let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let files = files.filter(|path| path.extension().is_some_and(|extension| extension == ending));
        files.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect()
    };
    let components = named("wasm", root().join("plugins"));
    assert_eq!(components, parsers().into_iter().map(str::to_owned).collect());
    let tables = named("json", root().join("plugins/tables"));
    assert_eq!(tables, registry::TABLES.iter().map(|name| (*name).to_owned()).collect());
}

#[test]
fn every_format_has_turns_for_the_choice_of_a_parser() {
    for format in FORMATS {
        let profile = format.profile;
        assert!(
            !profile.turns.is_empty() && profile.asked > 0,
            "{}: its profile is not complete",
            format.name
        );
    }
}
