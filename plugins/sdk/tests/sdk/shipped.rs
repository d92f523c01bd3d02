//! The components in `plugins/`: built from the sources beside them, small, without imports.

#[path = "../../examples/stamp/sections.rs"]
mod sections;
#[path = "../../examples/stamp/source.rs"]
mod source;

use std::path::{Path, PathBuf};

const COMPONENT_HEADER: [u8; 8] = [0, b'a', b's', b'm', 13, 0, 1, 0];
const IMPORTS: u8 = 10;
const EXPORTS: u8 = 11;
/// Sizes in bytes. The largest parser reads calls as parameters and as JSON; the interpreter of tables
/// reads JSON and writes grammars.
const LARGEST: usize = 122_000;
const INTERPRETER: usize = 260_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every plugin of the folder: its name and its component.
fn plugins() -> Vec<(String, Vec<u8>)> {
    let is_plugin = |folder: &PathBuf| {
        folder.join("Cargo.toml").exists()
            && !["sdk", "kit", "registry"].iter().any(|library| folder.ends_with(library))
    };
    let folders = std::fs::read_dir(root().join("plugins"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path());
    let plugins: Vec<_> = folders
        .filter(is_plugin)
        .map(|folder| {
            let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
            let component = std::fs::read(folder.with_extension("wasm"));
            (name, component.expect("a plugin without its .wasm: run plugins/build.sh"))
        })
        .collect();
    assert!(!plugins.is_empty());
    plugins
}

#[test]
fn plugins_were_built_from_the_sources_as_they_are() {
    for (name, component) in plugins() {
        let built_from = String::from_utf8_lossy(sections::custom(&component, sections::SOURCE).unwrap());
        let sources = source::digest(&root(), &name).unwrap();
        assert_eq!(built_from, sources, "plugins/{name}.wasm is stale: run plugins/build.sh");
    }
}

#[test]
fn grammar_trial_was_built_from_sources_as_they_are() {
    let module = std::fs::read(root().join("host/grammar-trial/trial.wasm")).expect("the module");
    let built_from = String::from_utf8_lossy(sections::custom(&module, sections::SOURCE).unwrap());
    let sources = source::digest(&root(), source::TRIAL).unwrap();
    assert_eq!(built_from, sources, "trial.wasm is stale: run plugins/build.sh");
}

#[test]
fn every_plugin_says_which_toolchain_built_it() {
    for (name, component) in plugins() {
        let toolchain = String::from_utf8_lossy(sections::custom(&component, sections::TOOLCHAIN).unwrap());
        assert!(toolchain.starts_with("rustc ") && toolchain.contains(", std "), "{name}: {toolchain}");
    }
}

#[test]
fn plugins_say_what_they_are_or_the_option_they_need() {
    for (name, component) in plugins() {
        let section = sections::custom(&component, sections::DESCRIPTOR).unwrap();
        let said: Result<serde_json::Value, String> = serde_json::from_slice(section).unwrap();
        match said {
            Ok(descriptor) => assert_eq!(descriptor["name"], *name),
            Err(words) => assert!(words.starts_with("response_template is missing"), "{name}: {words}"),
        }
    }
}

#[test]
fn plugins_export_the_parser_and_import_nothing() {
    for (name, component) in plugins() {
        assert!(component.starts_with(&COMPONENT_HEADER), "{name} is no component");
        let sections = sections::sections(&component).unwrap();
        assert!(sections.iter().all(|(id, _)| *id != IMPORTS), "{name} has imports");
        let exported =
            |contents: &[u8]| String::from_utf8_lossy(contents).contains("sluice:parser/parser@0.1.0");
        assert!(sections.iter().any(|(id, contents)| *id == EXPORTS && exported(contents)), "{name}");
    }
}

#[test]
fn plugins_are_small_and_show_no_build_machine_paths() {
    for (name, component) in plugins() {
        let largest = if name == "response-template" { INTERPRETER } else { LARGEST };
        assert!(component.len() <= largest, "{name}: {} bytes", component.len());
        let text = String::from_utf8_lossy(&component);
        for path in ["/home/", "/root/", "/Users/", ".cargo/registry"] {
            assert!(!text.contains(path), "{name} contains {path}");
        }
    }
}
