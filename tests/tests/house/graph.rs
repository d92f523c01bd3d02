//! Which file of a crate takes which names from which other, and the circles among them.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{ModulePath, Modules};

/// Names that one file takes from another, by both.
pub(crate) type Edges = BTreeMap<(String, String), BTreeSet<String>>;

/// A path that leads through this many re-exports is taken as endless.
const MAX_DEPTH: usize = 16;

/// What a path leads to.
enum Target {
    Module(ModulePath),
    /// An item, by the module that defines it.
    Item(ModulePath),
}

/// The edges between files of `modules`, but those between a module and one that contains it.
pub(crate) fn edges(modules: &Modules) -> Edges {
    let mut edges = Edges::new();
    for (path, module) in modules {
        let globbed = module.globs.iter().filter_map(|glob| match resolve(modules, path, glob, 0)? {
            Target::Module(from) => Some(from),
            Target::Item(_) => None,
        });
        let globbed: Vec<ModulePath> = globbed.collect();
        let by_glob = globbed.iter().flat_map(|from| module.words.iter().map(move |word| (from, word)));
        let by_glob = by_glob.filter_map(|(from, word)| Some((find(modules, from, word, 0)?, word)));
        let by_path = module.imported.values().chain(&module.paths);
        let by_path = by_path.filter_map(|names| Some((resolve(modules, path, names, 0)?, names.last()?)));
        for (target, name) in by_path.chain(by_glob) {
            let Target::Item(owner) = target else { continue };
            let (from, to) = (&module.file, &modules[&owner].file);
            if from != to && !owner.starts_with(path) && !path.starts_with(&owner) {
                edges.entry((from.clone(), to.clone())).or_default().insert(name.clone());
            }
        }
    }
    edges
}

/// Where `names` lead that are written in module `at`; nothing outside the crate.
fn resolve(modules: &Modules, at: &[String], names: &[String], depth: usize) -> Option<Target> {
    let (first, mut rest) = names.split_first()?;
    let mut target = match first.as_str() {
        "crate" => Target::Module(Vec::new()),
        "self" => Target::Module(at.to_vec()),
        "super" => Target::Module(at[..at.len().checked_sub(1)?].to_vec()),
        _ => find(modules, at, first, depth)?,
    };
    while let (Target::Module(path), [name, others @ ..]) = (&target, rest) {
        rest = others;
        target = match name.as_str() {
            "super" => Target::Module(path[..path.len().checked_sub(1)?].to_vec()),
            name => find(modules, path, name, depth).unwrap_or_else(|| Target::Item(path.clone())),
        };
    }
    Some(target)
}

/// What `name` is in module `at`.
fn find(modules: &Modules, at: &[String], name: &str, depth: usize) -> Option<Target> {
    let mut child = at.to_vec();
    child.push(name.to_owned());
    if modules.contains_key(&child) {
        return Some(Target::Module(child));
    }
    let module = modules.get(at).filter(|_| depth < MAX_DEPTH)?;
    if module.defined.contains(name) {
        return Some(Target::Item(at.to_vec()));
    }
    if let Some(path) = module.imported.get(name) {
        // An import of another crate by the name of its own first segment leads to itself.
        return if path.first().is_some_and(|first| first == name) {
            None
        } else {
            resolve(modules, at, path, depth + 1)
        };
    }
    module.globs.iter().find_map(|glob| match resolve(modules, at, glob, depth + 1)? {
        Target::Module(path) if path != at => find(modules, &path, name, depth + 1),
        _ => None,
    })
}

/// The sets of files that reach each other, each of two files or more.
pub(crate) fn circles(edges: &Edges) -> Vec<BTreeSet<&str>> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in edges.keys() {
        next.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        next.keys().map(|file| (*file, reach(&next, file))).collect();
    let circles = reached.iter().filter(|(file, reached)| reached.contains(*file)).map(|(file, files)| {
        files
            .iter()
            .filter(|other| reached.get(*other).is_some_and(|back| back.contains(file)))
            .copied()
            .collect()
    });
    let circles: BTreeSet<BTreeSet<&str>> = circles.collect();
    circles.into_iter().collect()
}

fn reach<'a>(next: &BTreeMap<&'a str, Vec<&'a str>>, start: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(file) = open.pop() {
        let unseen = next.get(file).into_iter().flatten().filter(|to| reached.insert(**to));
        open.extend(unseen.copied().collect::<Vec<_>>());
    }
    reached
}
