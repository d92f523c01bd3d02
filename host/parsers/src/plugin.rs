//! Loaded plugin of any contract version: its descriptor, and the factory that makes one parser per
//! stream.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::factory::ParserFactory;
use super::none::NoParser;
use super::source::TableSource;
use super::version::ContractVersion;
use contract::{Descriptor, Fault, Request, SendParser};
use grammar::{GrammarTemplate, TemplateError};

/// A checked and compiled parser plugin, shared by all streams that use it.
pub struct Plugin {
    descriptor: Descriptor,
    /// Version of the contract that it was loaded by; `None` for `none`.
    contract: Option<ContractVersion>,
    digest: String,
    size: usize,
    factory: Box<dyn ParserFactory>,
    /// The table that each stream's parser gets.
    table: Option<TableSource>,
    /// How the format spells a turn, if it can be forced.
    template: Option<GrammarTemplate>,
}

impl Plugin {
    pub(super) fn new(
        descriptor: Descriptor,
        contract: ContractVersion,
        digest: String,
        size: usize,
        factory: Box<dyn ParserFactory>,
        table: Option<&TableSource>,
    ) -> Result<Self, TemplateError> {
        let parse = |text: &String| GrammarTemplate::parse(text, &descriptor.markers);
        let template = descriptor.grammar.as_ref().map(parse).transpose()?;
        Ok(Self {
            descriptor,
            contract: Some(contract),
            digest,
            size,
            factory,
            table: table.cloned(),
            template,
        })
    }

    /// The plugin without markers, for which all text is content.
    pub fn none() -> Arc<Self> {
        Arc::new(Self {
            descriptor: NoParser::descriptor(),
            contract: None,
            digest: String::new(),
            size: 0,
            factory: Box::new(NoParser),
            table: None,
            template: None,
        })
    }

    /// Description of the parser, with its markers.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// Version of the contract by which the component was loaded; `None` for `none`.
    pub fn contract(&self) -> Option<ContractVersion> {
        self.contract
    }

    /// SHA-256 of the component in lower-case hex; empty for `none`.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Template of the format's grammars; `None` where the format can't be forced.
    pub fn template(&self) -> Option<&GrammarTemplate> {
        self.template.as_ref()
    }

    /// Size of the component in bytes; 0 for `none`.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Makes the parser of one stream and passes it the request; the schemas of its tools only if
    /// it needs them. The parser stays one of this plugin for as long as it lives, whatever is
    /// loaded meanwhile.
    ///
    /// # Errors
    /// The parser can't be made, or refuses the request.
    pub fn start(&self, request: &Request) -> Result<SendParser, Fault> {
        self.factory.start(&self.descriptor, &self.with_table(request))
    }

    /// The request with the table among its options, if the plugin is one.
    fn with_table<'a>(&self, request: &'a Request) -> Cow<'a, Request> {
        let options = self.table.as_ref().and_then(|table| table.options(&request.options).ok());
        match options {
            Some(options) => Cow::Owned(Request { options, ..request.clone() }),
            None => Cow::Borrowed(request),
        }
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin")
            .field("name", &self.descriptor.name)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::LoadProblem;

    fn load(grammar: &str) -> Result<Plugin, LoadProblem> {
        let descriptor = Descriptor {
            grammar: Some(grammar.to_owned()),
            markers: vec!["<call>".to_owned(), "</call>".to_owned()],
            ..Descriptor::default()
        };
        let contract = ContractVersion::V0_1;
        Plugin::new(descriptor, contract, String::new(), 0, Box::new(NoParser), None)
            .map_err(LoadProblem::Grammar)
    }

    #[test]
    fn a_template_is_read_when_its_parser_is_loaded() {
        assert!(load("call: marker_0 json_name arguments marker_1").unwrap().template().is_some());
        for (grammar, words) in [
            ("call: name arguments\n\n%nmae 64 /a/", "line 3: this server doesn't know `%nmae`"),
            ("call: marker_2 name arguments", "rule `call`: there is no marker 2: the parser has 2"),
            ("call: name arguments\nreasoning_end: marker_1", "rule `reasoning_end`: nothing leads to it"),
        ] {
            let line = load(grammar).unwrap_err().to_string();
            assert_eq!(line, format!("its grammar is no template: {words}"));
        }
    }
}
