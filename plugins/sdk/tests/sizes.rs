//! Parsers are short: what they share, or could, lives in the SDK, whose files are short too.

use std::path::{Path, PathBuf};

/// Lines of a parser's crate, and of a file of the SDK: all of them, comments and empty ones, less unit tests.
const LONGEST: usize = 300;

fn plugins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The sources below a folder, and how long each is.
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

#[test]
fn every_parser_is_a_short_crate() {
    let folders = plugins().read_dir().expect("the folder").map(|entry| entry.expect("an entry").path());
    let is_parser = |folder: &PathBuf| folder.join("Cargo.toml").exists() && !folder.ends_with("sdk");
    let parsers: Vec<PathBuf> = folders.filter(is_parser).collect();
    assert!(!parsers.is_empty());
    for parser in parsers {
        let lines: usize = sources(&parser.join("src")).iter().map(|(_, lines)| lines).sum();
        assert!(lines <= LONGEST, "{}: {lines} lines, over {LONGEST}", parser.display());
    }
}

#[test]
fn every_file_of_the_sdk_is_short() {
    let sources = sources(&plugins().join("sdk/src"));
    assert!(!sources.is_empty());
    for (file, lines) in sources {
        assert!(lines <= LONGEST, "{}: {lines} lines, over {LONGEST}", file.display());
    }
}
