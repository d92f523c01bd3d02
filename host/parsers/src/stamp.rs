//! Checks of a plugin file that need no compiling: whether it is a component, what it imports, and which version of the contract
//! it exports. They come first, since compiling a large unknown component takes seconds.

use wasmtime::wasmparser::{ComponentExport, ComponentImport, Parser, Payload};

use super::error::{LoadProblem, one_line};
use super::section;
use super::source::PluginSource;
use super::version::INTERFACE;

/// Name of the exported interface, without its version.
const PARSER: &str = "sluice:parser/parser";

/// Checks that `bytes` look like a component for this host. wasmtime validates the rest.
pub(super) fn check(bytes: &[u8]) -> Result<(), LoadProblem> {
    if bytes.is_empty() {
        return Err(LoadProblem::Empty);
    }
    if !bytes.starts_with(b"\0asm") {
        return Err(LoadProblem::NotWasm);
    }
    if Parser::is_core_wasm(bytes) {
        return Err(LoadProblem::CoreModule);
    }
    let names = Names::read(bytes).map_err(|error| LoadProblem::Invalid(one_line(&error.to_string())))?;
    if !names.imports.is_empty() {
        return Err(LoadProblem::Imports(names.imports));
    }
    check_version(names.exports)
}

/// Reads the component's `sluice-` sections about its build, as (section name without `sluice-`, content). Empty where the
/// source's bytes aren't in memory.
pub fn build_sections(source: &PluginSource) -> Vec<(String, String)> {
    let PluginSource::Bytes { bytes, .. } = source else { return Vec::new() };
    let sections = Parser::new(0).parse_all(bytes).filter_map(Result::ok);
    let stamp = |payload: Payload<'_>| match payload {
        Payload::CustomSection(section) if section.name() != section::DESCRIPTOR => {
            let what = section.name().strip_prefix("sluice-")?;
            Some((what.to_owned(), one_line(&String::from_utf8_lossy(section.data()))))
        }
        _ => None,
    };
    sections.filter_map(stamp).collect()
}

/// Whether one of the exports is a parser of this host's contract; patch versions fit each other.
fn check_version(exports: Vec<String>) -> Result<(), LoadProblem> {
    let parsers: Vec<String> = exports.iter().filter(|name| is_parser(name)).cloned().collect();
    if parsers.is_empty() {
        return Err(LoadProblem::NoParser(exports));
    }
    if parsers.iter().any(|name| minor(name) == minor(INTERFACE)) {
        return Ok(());
    }
    Err(LoadProblem::Version(parsers))
}

fn is_parser(name: &str) -> bool {
    name.strip_prefix(PARSER).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
}

/// Cuts the patch version off: `sluice:parser/parser@0.1.7` → `sluice:parser/parser@0.1`. A pre-release is kept whole, and fits only itself.
fn minor(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((minor, patch)) if patch.bytes().all(|c| c.is_ascii_digit()) => minor,
        _ => name,
    }
}

/// Names of a component's own imports and exports.
#[derive(Default)]
struct Names {
    imports: Vec<String>,
    exports: Vec<String>,
}

impl Names {
    fn read(bytes: &[u8]) -> wasmtime::wasmparser::Result<Self> {
        let mut names = Self::default();
        let mut depth = 0_u32;
        for payload in Parser::new(0).parse_all(bytes) {
            match payload? {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(imports) if depth == 0 => {
                    for import in imports {
                        let ComponentImport { name, .. } = import?;
                        names.imports.push(name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(exports) if depth == 0 => {
                    for export in exports {
                        let ComponentExport { name, .. } = export?;
                        names.exports.push(name.name.to_owned());
                    }
                }
                _ => {}
            }
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(exports: &[&str]) -> Result<(), String> {
        check_version(exports.iter().map(|name| (*name).to_owned()).collect()).map_err(|e| e.to_string())
    }

    #[test]
    fn patch_versions_of_the_contract_fit_and_others_are_named() {
        assert_eq!(version(&["sluice:parser/parser@0.1.0"]), Ok(()));
        assert_eq!(version(&["x", "sluice:parser/parser@0.1.9", "sluice:parser/parser@0.3.0"]), Ok(()));
        for other in ["@0.2.0", "@1.1.0", "@0.1.0-rc.1", "@0.10.0", ""] {
            let name = format!("sluice:parser/parser{other}");
            let error = version(&[&name]).unwrap_err();
            assert!(error.starts_with(&format!("exports {name}, this host serves 0.1: ")), "{error}");
        }
        let error = version(&["sluice:parser/parsers@0.1.0"]).unwrap_err();
        assert!(
            error.starts_with("exports no sluice:parser/parser, only sluice:parser/parsers@0.1.0: build")
        );
    }
}
