//! The other projects' packages, as the registry gave them to this build: their tests' inputs are
//! read there, and none of it is copied.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use proc_macro2::{TokenStream, TokenTree};

/// Folder of a package's sources that this build uses.
///
/// # Panics
/// cargo doesn't say where it is.
pub fn package(name: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--manifest-path", manifest])
        .output()
        .expect("cargo metadata");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let package = packages.iter().find(|package| package["name"] == name).expect("a package of this build");
    let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
    manifest.parent().expect("a folder").to_owned()
}

/// String literals of a source file, in order, each with the name of the constant that it is in;
/// those of `format!` aside, whose braces aren't text. `None`, which is said, if the package came
/// without the file.
///
/// # Panics
/// The file isn't Rust.
pub fn literals(file: &Path) -> Option<Vec<(String, String)>> {
    let Ok(source) = std::fs::read_to_string(file) else {
        let said = writeln!(std::io::stderr(), "skipped: the registry's package has no {}", file.display());
        said.expect("stderr");
        return None;
    };
    let tokens = TokenStream::from_str(&source).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut found = Vec::new();
    walk(tokens, &mut String::new(), &mut found);
    Some(found)
}

fn walk(tokens: TokenStream, constant: &mut String, found: &mut Vec<(String, String)>) {
    let (mut last, mut before) = (String::new(), String::new());
    for token in tokens {
        match &token {
            TokenTree::Ident(name) if last == "const" => *constant = name.to_string(),
            // Comments are attributes.
            TokenTree::Group(group) if last != "#" && !(last == "!" && FORMATS.contains(&&*before)) => {
                walk(group.stream(), constant, found);
            }
            TokenTree::Literal(literal) => {
                let text = syn::parse_str::<syn::LitStr>(&literal.to_string());
                found.extend(text.map(|text| (constant.clone(), text.value())));
            }
            _ => {}
        }
        before = std::mem::replace(&mut last, token.to_string());
    }
}

/// Macros whose literals are formats.
const FORMATS: [&str; 5] = ["format", "format_args", "panic", "println", "write"];
