//! Reader of the custom section `sluice-descriptor`: the component's answer to `describe` without
//! options. The build writes it, so that choosing a parser compiles none. `load` compares it with
//! the component's own answer. Each version of the contract after 0.1 has a section of its own,
//! since its descriptor may have fields that hosts of older versions don't know.

use wasmtime::wasmparser::{Parser, Payload};

use super::descriptor;
use super::error::{LoadProblem, one_line};
use super::version::ContractVersion;
use contract::Descriptor;

/// Name of the section of contract 0.1; that of a later one has `@` and its version behind it.
pub(super) const DESCRIPTOR: &str = "sluice-descriptor";
/// Maximum size of the section, in bytes: no component's own answer may be larger either.
const SECTION_BYTES: usize = 1 << 20;

/// Answer to `describe` without options, as a component's section has it.
pub(super) struct Section(Result<Descriptor, String>);

impl Section {
    /// Reads the section for this version of the contract; `None` where the component has none.
    /// `component` has passed [`super::stamp::check`].
    ///
    /// # Errors
    /// The section isn't JSON of such an answer, is too large, or is one of several.
    pub(super) fn read(component: &[u8], contract: ContractVersion) -> Result<Option<Self>, LoadProblem> {
        let name = match contract {
            ContractVersion::V0_1 => DESCRIPTOR.to_owned(),
            ContractVersion::Draft0_2 => format!("{DESCRIPTOR}@{}", contract.package()),
        };
        let sections = find(component, &name);
        let [json] = sections[..] else {
            let several = || LoadProblem::Section(format!("occurs {} times", sections.len()));
            return if sections.is_empty() { Ok(None) } else { Err(several()) };
        };
        if json.len() > SECTION_BYTES {
            let size = format!("has {} bytes, at most {SECTION_BYTES} are allowed", json.len());
            return Err(LoadProblem::Section(size));
        }
        serde_json::from_slice(json)
            .map(|answer| Some(Self(answer)))
            .map_err(|error| LoadProblem::Section(format!("can't be read: {}", one_line(&error.to_string()))))
    }

    /// Returns the descriptor, checked.
    ///
    /// # Errors
    /// The parser describes itself with options only, or its descriptor breaks the contract.
    pub(super) fn descriptor(self) -> Result<Descriptor, LoadProblem> {
        let descriptor = self.0.map_err(|words| LoadProblem::Options(one_line(&words)))?;
        descriptor::check(&descriptor)?;
        Ok(descriptor)
    }

    /// Compares the section with the component's own answer.
    ///
    /// # Errors
    /// They differ.
    pub(super) fn verify(&self, answer: &Result<Descriptor, LoadProblem>) -> Result<(), LoadProblem> {
        let what = match (&self.0, answer) {
            (Ok(section), Ok(component)) => match difference(section, component) {
                Some(field) => format!("has another `{field}`"),
                None => return Ok(()),
            },
            (Err(_), Err(_)) => return Ok(()),
            (Err(_), Ok(_)) => "says that it needs options".to_owned(),
            (Ok(_), Err(problem)) => format!("has a descriptor, the component {problem}"),
        };
        Err(LoadProblem::Section(format!("doesn't fit the component: it {what}")))
    }
}

/// Name of the first field in which the descriptors differ.
fn difference(a: &Descriptor, b: &Descriptor) -> Option<&'static str> {
    [
        ("name", a.name == b.name),
        ("version", a.version == b.version),
        ("models", a.models == b.models),
        ("markers", a.markers == b.markers),
        ("stops", a.stops == b.stops),
        ("trim", a.trim == b.trim),
        ("history-call-ids", a.history_call_ids == b.history_call_ids),
        ("grammar", a.grammar == b.grammar),
        ("reasoning-end", a.reasoning_end == b.reasoning_end),
        ("needs", a.needs == b.needs),
        ("properties", a.properties == b.properties),
    ]
    .into_iter()
    .find_map(|(field, same)| (!same).then_some(field))
}

/// Contents of the component's own sections of this name; those of modules and components inside it
/// don't count.
fn find<'a>(component: &'a [u8], name: &str) -> Vec<&'a [u8]> {
    let (mut depth, mut found) = (0_u32, Vec::new());
    for payload in Parser::new(0).parse_all(component).filter_map(Result::ok) {
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if depth == 0 && section.name() == name => {
                found.push(section.data());
            }
            _ => {}
        }
    }
    found
}
