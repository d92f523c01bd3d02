//! A crate's modules as their files say: what each defines, imports and names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::tokens::{group, product_tokens};

/// The path of a module in its crate; the root's is empty.
pub(crate) type ModulePath = Vec<String>;

/// What a module's file says.
#[derive(Default)]
pub(crate) struct Module {
    /// Relative to the repository.
    pub(crate) file: String,
    /// Items defined here, child modules among them.
    pub(crate) defined: BTreeSet<String>,
    /// Types and traits among them that are `pub`.
    pub(crate) public_types: BTreeSet<String>,
    /// Names that `use` brings in, and the path behind each.
    pub(crate) imported: BTreeMap<String, Vec<String>>,
    /// Paths of `use …::*`.
    pub(crate) globs: Vec<Vec<String>>,
    /// Paths of two segments or more, written in code.
    pub(crate) paths: BTreeSet<Vec<String>>,
    /// Words of the file, for what globs bring in.
    pub(crate) words: BTreeSet<String>,
}

/// The modules of one crate by path.
pub(crate) type Modules = BTreeMap<ModulePath, Module>;

/// Folders of the product's crates: the workspace's, and the parsers, which the registry lists. Its own
/// modules are files of the parsers' folders that a macro names.
pub(crate) fn members(repository: &Path) -> BTreeSet<String> {
    let manifest = fs::read_to_string(repository.join("Cargo.toml")).expect("a manifest");
    let listed = manifest.split("members = [").nth(1).and_then(|rest| rest.split(']').next());
    let listed = listed.expect("members").split('"').skip(1).step_by(2).map(str::to_owned);
    let plugins =
        fs::read_dir(repository.join("plugins")).expect("a folder").map(|entry| entry.expect("an entry"));
    let parsers = plugins.filter(|entry| entry.path().join("Cargo.toml").exists());
    let parsers = parsers.map(|entry| format!("plugins/{}", entry.file_name().display()));
    listed.chain(parsers).filter(|member| !matches!(&**member, "tests" | "plugins/registry")).collect()
}

/// The product's crates, each with its folder; a folder with a library and a binary has two.
pub(crate) fn product_crates() -> Vec<(String, Modules)> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests is in the repository");
    let mut crates = Vec::new();
    for member in members(repository) {
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| repository.join(&member).join(root));
        let roots = roots.iter().filter(|root| root.exists());
        crates.extend(roots.map(|root| (member.clone(), read_crate(repository, root))));
    }
    crates
}

/// Reads the crate whose root is `root` under `repository`.
pub(crate) fn read_crate(repository: &Path, root: &Path) -> Modules {
    let mut modules = Modules::new();
    let folder = root.parent().expect("a root is in a folder").to_owned();
    let mut reader = Reader { repository, modules: &mut modules };
    reader.file(root, &folder, Vec::new());
    modules
}

struct Reader<'a> {
    repository: &'a Path,
    modules: &'a mut Modules,
}

impl Reader<'_> {
    /// Reads `file`; its child modules are in `folder`.
    fn file(&mut self, file: &Path, folder: &Path, path: ModulePath) {
        let source = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.module(&product_tokens(&source), file, folder, path);
    }

    fn module(&mut self, tokens: &[&str], file: &Path, folder: &Path, path: ModulePath) {
        let name = file.strip_prefix(self.repository).expect("in the repository").to_string_lossy();
        let mut module = Module { file: name.into_owned(), ..Module::default() };
        let (mut at, mut depth, mut other) = (0, 0_usize, None);
        while at < tokens.len() {
            let rest = &tokens[at..];
            match rest {
                ["#", "[", "path", "=", path, "]", ..] => {
                    (other, at) = (Some(path.trim_matches('"').to_owned()), at + 6);
                    continue;
                }
                ["mod", child, ";", ..] => {
                    module.defined.insert((*child).to_owned());
                    let (file, folder) = child_file(file, folder, child, other.take());
                    self.file(&file, &folder, joined(&path, child));
                }
                ["mod", child, "{", ..] => {
                    module.defined.insert((*child).to_owned());
                    let length = group(&rest[2..]);
                    let block = &rest[3..=length];
                    self.module(block, file, &folder.join(child), joined(&path, child));
                    at += 2 + length;
                    continue;
                }
                ["use", ..] => {
                    at += 1 + use_tree(&rest[1..], &mut Vec::new(), &mut module);
                    continue;
                }
                ["macro_rules", "!", name, ..] => _ = module.defined.insert((*name).to_owned()),
                ["{", ..] => depth += 1,
                ["}", ..] => depth = depth.saturating_sub(1),
                [keyword, name, ..] if depth == 0 && defines(keyword) => {
                    module.defined.insert((*name).to_owned());
                    if is_type(keyword) && is_public(&tokens[..at]) {
                        module.public_types.insert((*name).to_owned());
                    }
                }
                [first, "::", ..] if is_name(first) && (at == 0 || tokens[at - 1] != "::") => {
                    let path: Vec<String> = segments(rest);
                    at += 2 * path.len() - 2;
                    module.paths.insert(path);
                }
                _ => {}
            }
            module.words.insert(tokens[at].to_owned());
            at += 1;
        }
        self.modules.insert(path, module);
    }
}

fn joined(path: &[String], child: &str) -> ModulePath {
    path.iter().cloned().chain([child.to_owned()]).collect()
}

/// The file of module `child`, and the folder of its own children.
fn child_file(parent: &Path, folder: &Path, child: &str, other: Option<String>) -> (PathBuf, PathBuf) {
    if let Some(other) = other {
        return (parent.with_file_name(other), folder.join(child));
    }
    let flat = folder.join(format!("{child}.rs"));
    let file = if flat.exists() { flat } else { folder.join(child).join("mod.rs") };
    (file, folder.join(child))
}

fn defines(keyword: &str) -> bool {
    is_type(keyword) || matches!(keyword, "fn" | "const" | "static")
}

fn is_type(keyword: &str) -> bool {
    matches!(keyword, "struct" | "enum" | "union" | "trait" | "type")
}

/// Whether what follows `tokens` is `pub` without a bound.
fn is_public(tokens: &[&str]) -> bool {
    matches!(tokens, [.., "pub"] | [.., "pub", "unsafe"])
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The names that `tokens` opens with, which `::` joins.
fn segments(tokens: &[&str]) -> Vec<String> {
    let names = tokens.chunks(2).take_while(|pair| is_name(pair[0]));
    let mut segments = Vec::new();
    for pair in names {
        segments.push(pair[0].to_owned());
        if pair.get(1) != Some(&"::") {
            break;
        }
    }
    segments
}

/// Reads a tree of imports behind `prefix`; returns its tokens.
fn use_tree(tokens: &[&str], prefix: &mut Vec<String>, module: &mut Module) -> usize {
    let outer = prefix.len();
    let mut at = 0;
    loop {
        match &tokens[at..] {
            ["{", ..] => {
                at += 1;
                while tokens[at] != "}" {
                    at += use_tree(&tokens[at..], prefix, module);
                    at += usize::from(tokens[at] == ",");
                }
                at += 1;
            }
            ["*", ..] => {
                module.globs.push(prefix.clone());
                at += 1;
            }
            ["::", ..] => {
                at += 1;
                continue;
            }
            [name, "::", ..] => {
                prefix.push((*name).to_owned());
                at += 2;
                continue;
            }
            [name, rest @ ..] => {
                if *name != "self" {
                    prefix.push((*name).to_owned());
                }
                let alias = match rest {
                    ["as", alias, ..] => (*alias).to_owned(),
                    _ => prefix.last().cloned().unwrap_or_default(),
                };
                at += if rest.first() == Some(&"as") { 3 } else { 1 };
                let unnamed = if alias == "_" { prefix.join("::") } else { alias };
                module.imported.insert(unnamed, prefix.clone());
            }
            [] => {}
        }
        prefix.truncate(outer);
        return at;
    }
}
