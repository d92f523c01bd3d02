//! `host parser new NAME`: makes a crate for a new parser, which is a Python package, too. Besides a
//! compiler it needs only three small crates of the registry. Its lock file names the versions of
//! these crates that the SDK is tested with; if they are in cargo's cache, the crate builds offline.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use include_dir::{Dir, DirEntry, include_dir};

static TEMPLATE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../plugins/template");
static WIT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../wit");
/// The template's lock file, with all packages except the new crate's own.
const LOCK: &str = "Cargo.lock.template";
/// Crates of this repository that a parser and its tests are built with: name, sources, manifest.
static VENDORED: [(&str, Dir<'_>, &str); 5] = [
    (
        "contract",
        include_dir!("$CARGO_MANIFEST_DIR/contract/src"),
        include_str!("../../../contract/Cargo.toml"),
    ),
    ("seeded", include_dir!("$CARGO_MANIFEST_DIR/seeded/src"), include_str!("../../../seeded/Cargo.toml")),
    ("turn", include_dir!("$CARGO_MANIFEST_DIR/turn/src"), include_str!("../../../turn/Cargo.toml")),
    (
        "sdk",
        include_dir!("$CARGO_MANIFEST_DIR/../plugins/sdk/src"),
        include_str!("../../../../plugins/sdk/Cargo.toml"),
    ),
    (
        "kit",
        include_dir!("$CARGO_MANIFEST_DIR/../plugins/kit/src"),
        include_str!("../../../../plugins/kit/Cargo.toml"),
    ),
];
/// Folders of those crates that only their own tests have.
const TESTS: [&str; 2] = ["tests", "oracle"];
const TOOLCHAIN_SCRIPT: &str = include_str!("../../../../plugins/wasm-toolchain.sh");

#[derive(clap::Args)]
pub(super) struct NewArguments {
    /// Name of the parser: lower-case letters, digits and single hyphens, e.g. `my-model`.
    #[arg(value_parser = name)]
    name: String,
    /// Folder to create the crate in [default: NAME].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn run(arguments: &NewArguments) -> anyhow::Result<ExitCode> {
    let folder = arguments.dir.clone().unwrap_or_else(|| PathBuf::from(&arguments.name));
    let count = create(&folder, &arguments.name, None)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}: {count} files, README.md says what each is for", folder.display())?;
    writeln!(out, "next: cd {} && cargo test", folder.display())?;
    Ok(ExitCode::SUCCESS)
}

/// Makes the crate. `source` replaces the template's parser, whose cases are left out then. Returns
/// the number of files.
pub(super) fn create(folder: &Path, name: &str, source: Option<&str>) -> anyhow::Result<usize> {
    if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) || folder.is_file() {
        bail!("{} exists already: choose another NAME, or --dir", folder.display());
    }
    let mut files = files(name);
    if let Some(source) = source {
        files.retain(|(path, _)| !path.starts_with("cases") && path != Path::new("src/lib.rs"));
        files.push(("src/lib.rs".into(), filled(source, name)));
    }
    for (path, text) in &files {
        write(&folder.join(path), text)?;
    }
    make_executable(&folder.join("wasm-toolchain.sh"))?;
    Ok(files.len())
}

/// The crate's files by path.
fn files(name: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for (path, text) in texts(&TEMPLATE) {
        let text = filled(text, name);
        let is_lock = path == Path::new(LOCK);
        files.push((renamed(path), if is_lock { locked(&text, name) } else { text }));
    }
    for (name, sources, manifest) in &VENDORED {
        let folder = Path::new("vendor").join(name);
        files.push((folder.join("Cargo.toml"), without_tests(manifest)));
        let sources =
            texts(sources).into_iter().filter(|(path, _)| !TESTS.iter().any(|own| path.starts_with(own)));
        files.extend(sources.map(|(path, text)| (folder.join("src").join(path), text.to_owned())));
    }
    for (path, text) in texts(&WIT) {
        files.push((Path::new("vendor/sdk/wit").join(path), text.to_owned()));
    }
    files.push(("wasm-toolchain.sh".into(), TOOLCHAIN_SCRIPT.to_owned()));
    files
}

/// All files of an embedded folder, with their texts.
fn texts<'a>(dir: &'a Dir<'a>) -> Vec<(&'a Path, &'a str)> {
    let text = |entry: &'a DirEntry<'a>| match entry {
        DirEntry::Dir(dir) => texts(dir),
        DirEntry::File(file) => vec![(file.path(), file.contents_utf8().expect("sources are text"))],
    };
    dir.entries().iter().flat_map(text).collect()
}

/// Real name of a template's file. The template uses other names because cargo and git would
/// interpret the real ones in its folder.
fn renamed(path: &Path) -> PathBuf {
    match path.to_str() {
        Some("Cargo.toml.template") => "Cargo.toml".into(),
        Some("pyproject.toml.template") => "pyproject.toml".into(),
        Some(LOCK) => "Cargo.lock".into(),
        Some("gitignore") => ".gitignore".into(),
        _ => path.to_owned(),
    }
}

fn filled(text: &str, name: &str) -> String {
    text.replace("{{name}}", name)
        .replace("{{crate}}", &format!("{}_parser", name.replace('-', "_")))
        .replace("{{type}}", &type_name(name))
        .replace("{{version}}", env!("CARGO_PKG_VERSION"))
        .replace("{{rust-version}}", env!("CARGO_PKG_RUST_VERSION"))
}

/// Adds the new crate's own package to a lock file, which cargo sorts by package name.
fn locked(others: &str, name: &str) -> String {
    const PACKAGE: &str = "[[package]]\n";
    let own = format!(
        "name = \"{name}-parser\"\nversion = \"0.1.0\"\ndependencies = [\n \"parser-kit\",\n \"parser-sdk\",\n]\n"
    );
    let mut parts: Vec<&str> = others.split(PACKAGE).map(str::trim_end).collect();
    let head = parts.remove(0);
    parts.push(own.trim_end());
    parts.sort_by_key(|part| part.lines().next());
    let packages: Vec<String> = parts.iter().map(|part| format!("{PACKAGE}{part}\n")).collect();
    format!("{head}\n\n{}", packages.join("\n"))
}

/// Makes a type's name: `my-model` → `MyModel`.
fn type_name(name: &str) -> String {
    let capitalised = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    name.split('-').map(capitalised).collect()
}

/// A manifest without its development dependencies.
fn without_tests(manifest: &str) -> String {
    let sections =
        manifest.split_inclusive("\n[").filter(|section| !section.starts_with("dev-dependencies]"));
    sections.collect()
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().expect("a file lies in a folder");
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    std::fs::write(path, text).with_context(|| path.display().to_string())
}

fn make_executable(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
        .with_context(|| path.display().to_string())
}

/// Checks a name, which is also used for a crate, a file and, capitalised, a type.
pub(super) fn name(text: &str) -> Result<String, String> {
    let word = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_lowercase())
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if text.len() <= 64 && text.split('-').all(word) {
        Ok(text.to_owned())
    } else {
        Err("expected words of lower-case letters and digits, joined by hyphens, e.g. my-model".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_joined_by_hyphens() {
        for good in ["x", "my-model", "qwen3-coder"] {
            assert_eq!(name(good).as_deref(), Ok(good));
        }
        for bad in ["", "My", "a_b", "a--b", "-a", "a-", "3x", "a/b", "a-3"] {
            assert!(name(bad).is_err(), "{bad}");
        }
        assert_eq!(type_name("my-model2"), "MyModel2");
    }

    #[test]
    fn sdk_manifest_loses_only_its_test_dependencies() {
        let (_, _, manifest) = VENDORED.iter().find(|(name, ..)| *name == "sdk").expect("the SDK");
        let manifest = without_tests(manifest);
        assert!(!manifest.contains("dev-dependencies") && !manifest.contains("proptest"), "{manifest}");
        assert!(manifest.contains("[lints]") && manifest.contains("wit-bindgen"), "{manifest}");
    }

    #[test]
    fn nothing_is_left_to_fill_in_and_nothing_is_missing() {
        let files = files("my-model");
        for (path, text) in &files {
            assert!(!text.contains("{{") || path.starts_with("vendor"), "{}", path.display());
        }
        let has = |path: &str| files.iter().any(|(known, _)| known == Path::new(path));
        for path in [
            "Cargo.toml",
            "Cargo.lock",
            "README.md",
            ".gitignore",
            ".cargo/config.toml",
            "pyproject.toml",
            "python/__init__.py",
            "src/lib.rs",
            "vendor/sdk/src/lib.rs",
            "vendor/turn/src/stream/finish.rs",
        ] {
            assert!(has(path), "{path}");
        }
        assert!(has("vendor/sdk/wit/parser-0.1/parser.wit"));
        assert!(!files.iter().any(|(path, _)| path.starts_with("vendor/turn/src/tests")));
    }

    #[test]
    fn crate_is_locked_to_this_repositorys_versions() {
        let ours = include_str!("../../../../Cargo.lock");
        let files = files("my-model");
        let (_, lock) = files.iter().find(|(path, _)| path == Path::new("Cargo.lock")).expect("a lock file");
        let names: Vec<&str> = lock.lines().filter_map(|line| line.strip_prefix("name = ")).collect();
        assert!(names.is_sorted() && names.contains(&"\"my-model-parser\""), "{names:?}");
        for package in lock.split("[[package]]\n").skip(1).filter(|package| package.contains("checksum")) {
            let version = package.split("dependencies").next().expect("its name and version").trim_end();
            assert!(
                ours.contains(version),
                "plugins/template/Cargo.lock.template is old: copy Cargo.lock into a \
                crate of `host parser new`, let cargo prune it, and take that without the crate's own package\n{version}"
            );
        }
    }

    #[test]
    fn crate_asks_for_the_versions_the_sdk_is_tested_with() {
        let workspace = include_str!("../../../../Cargo.toml");
        let template = TEMPLATE.get_file("Cargo.toml.template").and_then(|file| file.contents_utf8());
        for name in ["serde = ", "serde_json = ", "wit-bindgen = "] {
            let line = |text: &'static str| text.lines().find(|line| line.starts_with(name)).expect("a line");
            assert_eq!(line(template.expect("the manifest")), line(workspace));
        }
    }
}
