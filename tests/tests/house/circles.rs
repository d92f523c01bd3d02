//! No two files of a crate import each other, in however many steps; a module and what it contains
//! may.

use std::collections::BTreeSet;
use std::fs;

use super::graph::{Edges, circles, edges};
use super::modules::{product_crates, read_crate};

#[test]
fn files_of_a_crate_do_not_import_each_other_in_circles() {
    let (mut read, mut faults) = (0, Vec::new());
    for (member, modules) in product_crates() {
        read += modules.len();
        let found = described(&edges(&modules));
        if !found.is_empty() {
            faults.push(format!("{member} has {} circles:{}", found.len(), found.concat()));
        }
    }
    assert!(read > 500, "only {read} modules were read");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_circle_is_found_behind_re_exports_and_not_in_tests() {
    let crate_folder = tempfile::tempdir().expect("a folder");
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use super::b::Thing; pub fn f(_: Thing) {}"),
        ("b/mod.rs", "mod thing; pub use thing::Thing;"),
        ("b/thing.rs", "pub struct Thing; fn g() { crate::a::f(Thing); crate::c::h('\"', \"//\") }"),
        ("c.rs", "pub fn h() {} #[cfg(test)] mod tests { use crate::b::Thing; }"),
    ];
    fs::create_dir(crate_folder.path().join("b")).expect("a folder");
    for (name, text) in files {
        fs::write(crate_folder.path().join(name), text).expect("a file");
    }
    let edges = edges(&read_crate(crate_folder.path(), &crate_folder.path().join("lib.rs")));
    let found: Vec<Vec<&str>> =
        circles(&edges).into_iter().map(|files| files.into_iter().collect()).collect();
    assert_eq!(found, [["a.rs", "b/thing.rs"]]);
}

/// Each circle with the names that tie it, in lines.
fn described(edges: &Edges) -> Vec<String> {
    let describe = |circle: BTreeSet<&str>| {
        let is_tie = |(from, to): &(String, String)| circle.contains(&**from) && circle.contains(&**to);
        let ties = edges.iter().filter(|(ends, _)| is_tie(ends));
        let lines = ties.map(|((from, to), names)| format!("\n    {from} -> {to}: {names:?}"));
        format!("\n  a circle of {} files:{}", circle.len(), lines.collect::<String>())
    };
    circles(edges).into_iter().map(describe).collect()
}
