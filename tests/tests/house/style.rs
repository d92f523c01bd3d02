//! One way to lay out modules and to name what is far away, so that a path says where a thing is.

use std::path::{Path, PathBuf};

use super::modules::members;
use super::tokens::product_tokens;

/// All Rust files below `folder`.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let below = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    paths.flat_map(below).filter(|path| path.extension().is_some_and(|kind| kind == "rs")).collect()
}

pub(crate) fn product() -> Vec<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests is in the repository");
    let files: Vec<_> = members(repository)
        .into_iter()
        .flat_map(|member| sources(&repository.join(member).join("src")))
        .collect();
    assert!(files.len() > 500, "only {} files were found", files.len());
    files
}

#[test]
fn a_module_with_parts_is_a_folder_with_all_of_it() {
    let split: Vec<_> = product()
        .into_iter()
        .filter(|file| file.with_extension("").is_dir() && !sources(&file.with_extension("")).is_empty())
        .collect();
    assert!(split.is_empty(), "these belong into their folders as mod.rs: {split:#?}");
}

#[test]
fn what_is_two_floors_up_is_named_from_the_crate() {
    let climbs = |file: &PathBuf| {
        let source = std::fs::read_to_string(file).expect("a source");
        product_tokens(&source).windows(3).any(|three| three == ["super", "::", "super"])
    };
    let climbing: Vec<_> = product().into_iter().filter(climbs).collect();
    assert!(climbing.is_empty(), "write `crate::…` for `super::super::…`: {climbing:#?}");
}
