//! One word, one meaning: a public type's name stands for one type in all crates, so that a reader
//! who knows it from one room isn't misled in another.

use std::collections::BTreeMap;
use std::fs;

use super::modules::{Modules, product_crates, read_crate};

/// Names of public types that several modules define, each with their files.
fn ambiguous<'a>(crates: impl Iterator<Item = &'a Modules>) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for module in crates.flat_map(Modules::values) {
        for name in &module.public_types {
            files.entry(name).or_default().push(&module.file);
        }
    }
    files.retain(|_, files| files.len() > 1);
    files
}

#[test]
fn a_public_type_has_its_name_for_itself() {
    let crates = product_crates();
    let names: usize =
        crates.iter().flat_map(|(_, modules)| modules.values()).map(|module| module.public_types.len()).sum();
    assert!(names > 500, "only {names} public types were found");
    let ambiguous = ambiguous(crates.iter().map(|(_, modules)| modules));
    assert!(ambiguous.is_empty(), "these names have two meanings: {ambiguous:#?}");
}

#[test]
fn a_name_with_two_meanings_is_found_where_both_are_public() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = [
        (
            "one.rs",
            "pub struct Event; pub(crate) struct Step; pub enum Kind { Order } mod a { pub trait Near {} }",
        ),
        (
            "two.rs",
            "pub type Event = u8; pub struct Step; struct Kind; pub struct Order; pub unsafe trait Near {}",
        ),
        (
            "three.rs",
            "#[cfg(test)] mod tests { pub struct Order; } pub use crate::one::Kind; pub fn near() {}",
        ),
    ];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    let crates = files.map(|(name, _)| read_crate(folder.path(), &folder.path().join(name)));
    let both = vec!["one.rs", "two.rs"];
    assert_eq!(ambiguous(crates.iter()), BTreeMap::from([("Event", both.clone()), ("Near", both)]));
}
