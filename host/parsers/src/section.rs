//! Reader of the custom section `sluice-descriptor`: the component's answer to `describe` without options. The build writes it,
//! so that choosing a parser compiles none. `load` compares it with the component's own answer.

use wasmtime::wasmparser::{Parser, Payload};

use super::descriptor;
use super::error::{LoadProblem, one_line};
use contract::Descriptor;

/// Name of the section.
pub(super) const DESCRIPTOR: &str = "sluice-descriptor";

/// Answer to `describe` without options, as a component's section has it.
pub(super) struct Section(Result<Descriptor, String>);

impl Section {
    /// Reads the section; `None` where the component has none. `component` has passed [`super::stamp::check`].
    ///
    /// # Errors
    /// The section isn't JSON of such an answer.
    pub(super) fn read(component: &[u8]) -> Result<Option<Self>, LoadProblem> {
        let Some(json) = find(component) else { return Ok(None) };
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

/// Contents of the component's own section; those of modules and components inside it don't count.
fn find(component: &[u8]) -> Option<&[u8]> {
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        match payload.ok()? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if depth == 0 && section.name() == DESCRIPTOR => {
                return Some(section.data());
            }
            _ => {}
        }
    }
    None
}
