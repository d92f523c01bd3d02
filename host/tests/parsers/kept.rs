//! Versions of the contract for ever: the WIT folder of a released one never changes, and
//! components that were built for it play their cases on every later host.
//! `tests/contract/VERSION/` keeps of each version its components with their cases, and the digest
//! of its folder.
//!
//! `UPDATE_EXPECT=1 cargo test --release --locked -p host --test parsers kept::` keeps the
//! components of today, for versions that aren't released.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use parser_kit::case::case_files;
use parsers::conformance::{Finding, Measures, Property, Sandboxed, test};
use parsers::{ContractVersion, ParserLimits, PluginSource, Runtime, digest};
use serde_json::{Value, json};

/// Shipped parsers that are kept: JSON that the host follows, and values that it types, nested ones
/// among them.
const COMPONENTS: [&str; 2] = ["qwen3", "minimax-m3"];
/// Maximum size of what is kept of one version, in bytes.
const KEPT_BYTES: u64 = 300_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A version that is kept.
struct Kept {
    contract: ContractVersion,
    folder: PathBuf,
    record: Value,
}

/// The versions that aren't drafts.
static KEPT: LazyLock<Vec<Kept>> = LazyLock::new(|| {
    let released = ContractVersion::ALL.into_iter().filter(|version| !version.is_draft());
    let kept: Vec<Kept> = released.map(Kept::read).collect();
    assert!(!kept.is_empty(), "every version is a draft");
    kept
});

impl Kept {
    /// Reads what is kept of a version; where the tests are to update it and it isn't released,
    /// keeps what is there today before.
    fn read(contract: ContractVersion) -> Self {
        let folder = root().join("tests/contract").join(contract.package());
        let file = folder.join("contract.json");
        let read = || -> Value {
            let text = fs::read_to_string(&file).expect("contract.json");
            serde_json::from_str(&text).expect("JSON")
        };
        let update = std::env::var_os("UPDATE_EXPECT").is_some();
        if update && !(file.exists() && read()["released"] == true) {
            keep(contract, &folder);
        }
        Self { contract, record: read(), folder }
    }

    fn components(&self) -> Vec<PathBuf> {
        let mut files = files(&self.folder);
        files.retain(|file| file.extension().is_some_and(|extension| extension == "wasm"));
        files
    }
}

/// Replaces what is kept of a version by the shipped components.
fn keep(contract: ContractVersion, folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    for name in COMPONENTS {
        let (plugin, cases) = (root().join("plugins").join(name), folder.join(name));
        fs::create_dir_all(&cases).expect("a folder");
        fs::copy(plugin.with_extension("wasm"), cases.with_extension("wasm")).expect("copied");
        for case in case_files(&plugin.join("cases")).expect("cases") {
            fs::copy(&case, cases.join(case.file_name().expect("a name"))).expect("copied");
        }
    }
    let record = json!({ "wit_sha256": wit_digest(contract), "released": false });
    let text = serde_json::to_string_pretty(&record).expect("JSON") + "\n";
    fs::write(folder.join("contract.json"), text).expect("written");
}

/// SHA-256 over the version's WIT folder: of each file its name, a line feed, its length, a line
/// feed, and its text with line feeds alone.
fn wit_digest(contract: ContractVersion) -> String {
    let mut all = Vec::new();
    for file in files(&root().join(format!("wit/parser-{contract}"))) {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).expect("text").replace("\r\n", "\n");
        all.extend_from_slice(format!("{name}\n{}\n{text}", text.len()).as_bytes());
    }
    digest(&all)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

#[test]
fn the_folder_of_each_version_is_as_it_was_recorded() {
    for Kept { contract, record, .. } in &*KEPT {
        let words = if record["released"] == true {
            format!(
                "wit/parser-{contract} isn't what was released as {}. A released contract is never changed, since components were built for \
                 it: take the change back, and make it in the next version's draft (docs/contract.md, \"How it grows\")",
                contract.package()
            )
        } else {
            format!(
                "wit/parser-{contract} has changed, and isn't released yet: build the parsers again (plugins/build.sh), and keep them with \
                 `UPDATE_EXPECT=1 cargo test --release --locked -p host --test parsers kept::`"
            )
        };
        assert_eq!(record["wit_sha256"], wit_digest(*contract), "{words}");
    }
}

#[test]
fn every_kept_component_plays_its_cases_on_this_host() {
    for component in KEPT.iter().flat_map(Kept::components) {
        let source = PluginSource::File(component.clone());
        let parsers = Sandboxed::new(
            source,
            &ParserLimits::default(),
            None,
            Measures::Resources,
            api::case_stream::check,
        )
        .expect("wasmtime runs here");
        let cases = case_files(&component.with_extension("")).expect("cases");
        let report = test(&cases, &parsers, 1).unwrap_or_else(|error| panic!("{error}"));
        // The components are older than this property.
        let is_due = |finding: &&Finding| finding.property != Property::NothingLost;
        let failed: Vec<_> =
            report.findings.iter().filter(is_due).filter(|finding| !finding.passed).collect();
        assert!(failed.is_empty() && report.cases >= 40, "{}: {failed:?}", component.display());
    }
}

#[test]
fn kept_components_are_of_their_version_and_small() {
    let runtime = Runtime::new(&ParserLimits::default()).expect("wasmtime runs here");
    for kept in &*KEPT {
        let components = kept.components();
        assert!(components.len() >= 2, "{}", kept.folder.display());
        let cases = components.iter().flat_map(|component| files(&component.with_extension("")));
        let sizes =
            cases.chain(components.iter().cloned()).map(|file| file.metadata().expect("a file").len());
        let bytes: u64 = sizes.sum();
        assert!(bytes <= KEPT_BYTES, "{}: {bytes} bytes", kept.folder.display());
        for component in components {
            let plugin = runtime.load(&PluginSource::File(component), &[]).expect("it loads");
            assert_eq!(plugin.contract(), Some(kept.contract));
        }
    }
}

#[test]
fn contract_page_says_what_this_host_speaks() {
    let page = fs::read_to_string(root().join("docs/contract.md")).expect("the page");
    let row = format!("| {} |", env!("CARGO_PKG_VERSION"));
    let row = page.lines().find(|line| line.starts_with(&row)).expect("this version's row");
    let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
    let spoken = |drafts: bool| {
        let names = ContractVersion::ALL.into_iter().filter(|version| version.is_draft() == drafts);
        names.map(ContractVersion::package).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(cells[1..3], [spoken(false), spoken(true)], "{row}");
    for contract in ContractVersion::ALL {
        let wit = root().join(format!("wit/parser-{contract}/parser.wit"));
        let wit = fs::read_to_string(wit).expect("the version's folder");
        assert!(wit.contains(&format!("package sluice:parser@{};", contract.package())), "{contract}");
    }
}

/// Else a change of 0.1 before its release would miss the draft. What a draft is to leave out is to
/// be named here.
#[test]
fn the_draft_has_every_line_of_the_version_before_it() {
    let interface = |contract: ContractVersion| {
        let wit = fs::read_to_string(root().join(format!("wit/parser-{contract}/parser.wit"))).expect("text");
        wit.lines().skip_while(|line| !line.starts_with("interface")).map(str::to_owned).collect::<Vec<_>>()
    };
    let [draft, first] = ContractVersion::ALL.map(interface);
    let mut lines = draft.iter();
    let missing: Vec<&String> = first.iter().filter(|line| !lines.any(|other| other == *line)).collect();
    assert!(missing.is_empty(), "wit/parser-0.2-draft lacks {missing:?}, or has it elsewhere");
    assert!(draft.len() > first.len(), "a draft of nothing");
}
