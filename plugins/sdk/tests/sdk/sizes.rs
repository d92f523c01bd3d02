//! Files are short: a parser's state machine is one, its tables and helpers are files beside it,
//! and what parsers share lives in the SDK.

use std::path::{Path, PathBuf};

/// Most lines of a file, with comments and empty lines, without unit tests.
const LONGEST: usize = 320;

fn plugins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The sources below a folder, and the number of lines of each.
fn sources(folder: &Path) -> Vec<(PathBuf, usize)> {
    let mut sources = Vec::new();
    for entry in folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources.extend(self::sources(&path));
        } else {
            let text = std::fs::read_to_string(&path).expect("it can be read");
            let lines = text.lines().take_while(|line| *line != "#[cfg(test)]").count();
            sources.push((path, lines));
        }
    }
    sources
}

/// Asserts that all files below a folder are short.
fn check(folder: &Path) {
    let sources = sources(folder);
    assert!(!sources.is_empty());
    for (file, lines) in sources {
        assert!(lines <= LONGEST, "{}: {lines} lines, over {LONGEST}", file.display());
    }
}

#[test]
fn every_file_of_a_parser_is_short() {
    let folders = plugins().read_dir().expect("the folder").map(|entry| entry.expect("an entry").path());
    let is_parser = |folder: &PathBuf| {
        folder.join("Cargo.toml").exists()
            && !["sdk", "kit", "registry"].iter().any(|library| folder.ends_with(library))
    };
    let parsers: Vec<PathBuf> = folders.filter(is_parser).collect();
    assert!(!parsers.is_empty());
    for parser in parsers {
        check(&parser.join("src"));
    }
}

#[test]
fn every_file_of_the_sdk_and_of_the_test_kit_is_short() {
    check(&plugins().join("sdk/src"));
    check(&plugins().join("kit/src"));
}
