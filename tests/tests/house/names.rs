//! One word, one meaning: a public type's name stands for one type in all crates, so that a reader
//! who knows it from one room isn't misled in another. A metric's name is said at one place, which
//! whoever looks for it finds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::modules::{Modules, product_crates, read_crate};
use super::tokens::product_tokens;

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

/// How often each metric of this server's own is named in `source`.
fn count_metrics(source: &str, named: &mut BTreeMap<String, usize>) {
    let is_name = |name: &str| {
        name.starts_with("sluice_") && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    let strings =
        product_tokens(source).into_iter().filter_map(|token| token.strip_prefix('"')?.strip_suffix('"'));
    for name in strings.filter(|name| is_name(name)) {
        *named.entry(name.to_owned()).or_default() += 1;
    }
}

#[test]
fn a_metrics_name_is_said_once() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests is in the repository");
    let crates = product_crates();
    let files = crates.iter().flat_map(|(_, modules)| modules.values()).map(|module| &module.file);
    let mut named = BTreeMap::new();
    for file in files.collect::<BTreeSet<_>>() {
        count_metrics(&fs::read_to_string(repository.join(file)).expect("a file"), &mut named);
    }
    assert!(named.len() > 30, "only {} metrics were found", named.len());
    named.retain(|_, times| *times > 1);
    assert!(named.is_empty(), "say these once, with `system::declare_metrics`: {named:#?}");
}

#[test]
fn a_metric_that_is_said_twice_is_counted() {
    let mut named = BTreeMap::new();
    let source = r#"declare! { counter A = "sluice_a", "sluice_a is help"; } fn f() { count("sluice_a"); } // "sluice_a"
        #[cfg(test)] mod tests { const A: &str = "sluice_a"; }"#;
    count_metrics(source, &mut named);
    assert_eq!(named, BTreeMap::from([("sluice_a".to_owned(), 2)]));
}
