//! Checks of a plugin file that need no compiling: whether it is a component, what it imports, and
//! which versions of the contract it exports. They come first, since compiling a large unknown
//! component takes seconds. The version is part of an export's name, so no other word of the file
//! can deny it.

use wasmtime::wasmparser::{ComponentExport, ComponentImport, Parser, Payload};

use super::error::{LoadProblem, one_line};
use super::section;
use super::source::PluginSource;
use super::version::{ContractVersion, PARSER};

/// Maximum number of sections about a build that are shown.
const BUILD_SECTIONS: usize = 16;

/// Version of the contract by which a component is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) contract: ContractVersion,
    /// The component's export of that version.
    pub(super) interface: String,
}

/// Checks that `bytes` look like a component for this host, and chooses the version of the contract
/// to load it by: the newest that both know, drafts only if they are allowed. wasmtime validates
/// the rest.
pub(super) fn check(bytes: &[u8], drafts: bool) -> Result<Stamp, LoadProblem> {
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
    choose(names.exports, drafts)
}

/// Reads the component's `sluice-` sections about its build, as (section name without `sluice-`,
/// content). Empty where the source's bytes aren't in memory.
pub fn build_sections(source: &PluginSource) -> Vec<(String, String)> {
    let PluginSource::Bytes { bytes, .. } = source else { return Vec::new() };
    let sections = Parser::new(0).parse_all(bytes).filter_map(Result::ok);
    let stamp = |payload: Payload<'_>| match payload {
        Payload::CustomSection(section) if !section.name().starts_with(section::DESCRIPTOR) => {
            let what = section.name().strip_prefix("sluice-")?;
            Some((what.to_owned(), one_line(&String::from_utf8_lossy(section.data()))))
        }
        _ => None,
    };
    sections.filter_map(stamp).take(BUILD_SECTIONS).collect()
}

/// Chooses among the exports.
fn choose(exports: Vec<String>, drafts: bool) -> Result<Stamp, LoadProblem> {
    let parsers: Vec<String> = exports.iter().filter(|name| is_parser(name)).cloned().collect();
    if parsers.is_empty() {
        return Err(LoadProblem::NoParser(exports));
    }
    let fitting = |contract: ContractVersion| {
        let interface = parsers.iter().find(|name| contract.fits(name))?.clone();
        Some(Stamp { contract, interface })
    };
    let mut known = ContractVersion::ALL.into_iter().filter_map(fitting).peekable();
    let newest = known.peek().cloned();
    match known.find(|stamp| drafts || !stamp.contract.is_draft()) {
        Some(stamp) => Ok(stamp),
        None => match newest {
            Some(draft) => Err(LoadProblem::Draft(draft.interface)),
            None => Err(LoadProblem::Version(parsers)),
        },
    }
}

fn is_parser(name: &str) -> bool {
    name.strip_prefix(PARSER).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
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

    fn chosen(exports: &[&str], drafts: bool) -> Result<(ContractVersion, String), String> {
        let exports = exports.iter().map(|name| (*name).to_owned()).collect();
        let stamp = choose(exports, drafts).map_err(|error| error.to_string())?;
        Ok((stamp.contract, stamp.interface))
    }

    const DRAFT: &str = "sluice:parser/parser@0.2.0-draft";

    #[test]
    fn contract_patch_versions_fit_and_others_are_named() {
        let first = "sluice:parser/parser@0.1.0".to_owned();
        assert_eq!(chosen(&[&first], false), Ok((ContractVersion::V0_1, first)));
        let patch = "sluice:parser/parser@0.1.9".to_owned();
        let beside = ["x", "sluice:parser/parser@0.3.0", &patch];
        assert_eq!(chosen(&beside, true), Ok((ContractVersion::V0_1, patch)));
        for other in ["@0.2.0", "@0.2.0-draft.2", "@1.0.0", "@0.1.0-rc.1", "@0.10.0", "@0.1.", "@0.1", ""] {
            let name = format!("sluice:parser/parser{other}");
            for drafts in [false, true] {
                let error = chosen(&[&name], drafts).unwrap_err();
                assert!(error.starts_with(&format!("exports {name}, this host serves 0.1: ")), "{error}");
            }
        }
        let error = chosen(&["sluice:parser/parsers@0.1.0"], true).unwrap_err();
        assert!(
            error.starts_with("exports no sluice:parser/parser, only sluice:parser/parsers@0.1.0: build")
        );
    }

    #[test]
    fn newest_allowed_version_wins_and_a_lone_draft_fails() {
        let both = [DRAFT, "sluice:parser/parser@0.1.0"];
        assert_eq!(chosen(&both, false).unwrap().0, ContractVersion::V0_1);
        assert_eq!(chosen(&both, true), Ok((ContractVersion::Draft0_2, DRAFT.to_owned())));
        assert_eq!(chosen(&[DRAFT], true).unwrap().0, ContractVersion::Draft0_2);
        for exports in [&[DRAFT][..], &[DRAFT, "sluice:parser/parser@0.3.0"]] {
            assert_eq!(
                chosen(exports, false).unwrap_err(),
                format!(
                    "exports {DRAFT}, a draft of the contract: allow it with --draft-contracts, or take the parser's build for 0.1"
                )
            );
        }
    }
}
