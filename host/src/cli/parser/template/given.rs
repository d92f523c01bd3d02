//! The response template that a command works on, the parser that reads it, and its cases.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use fit::Cases;
use model::TemplateFiles;
use parser_kit::case::case_files;
use parsers::conformance::{Measures, Recording, Sandboxed, walked_cases};
use parsers::shipped::{TABLE_PARSER, find_parser};
use parsers::{PluginSource, TABLE_OPTION};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use system::bounded::{self, SETTINGS_BYTES};

use crate::cli::parser::source::SandboxArguments;

/// Which template: what every command about one has.
#[derive(clap::Args)]
pub(super) struct GivenArguments {
    /// A file (a response template, or a tokenizer's configuration or table that has one), a table's
    /// name, or a model's directory or name.
    #[arg(value_name = "FILE|NAME|MODEL")]
    given: String,
    /// Model whose chat template writes the turns, where the template isn't a model's own.
    #[arg(long, value_name = "DIR|NAME")]
    model: Option<String>,
    /// Folder of cases to play [default: a table's own, else what the chat template writes, else
    /// turns from the template's grammars].
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
    /// Seed of the random choices.
    #[arg(long, value_name = "N", default_value = "1", value_parser = crate::cli::values::number::<u64>(0..=u64::MAX))]
    pub(super) seed: u64,
    #[command(flatten)]
    pub(super) sandbox: SandboxArguments,
}

/// A template that was found.
pub(super) struct GivenTemplate {
    /// What it is called.
    pub(super) name: String,
    /// The template as it is written.
    pub(super) text: String,
    /// The model whose chat template writes its turns.
    pub(super) model: Option<TemplateFiles>,
    /// The folder of a table's own cases.
    cases: Option<PathBuf>,
}

/// Where cases are from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaseOrigin {
    Folder,
    ChatTemplate,
    Grammars,
}

impl CaseOrigin {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Folder => "cases",
            Self::ChatTemplate => "turns that the chat template writes",
            Self::Grammars => "turns from its grammars",
        }
    }
}

/// What has a response template: a table, or a `tokenizer_config.json`.
#[derive(Deserialize)]
struct Around<'a> {
    #[serde(borrow)]
    response_template: Option<&'a RawValue>,
    fields: Option<&'a RawValue>,
}

impl GivenArguments {
    /// Finds the template.
    pub(super) fn find(&self) -> anyhow::Result<GivenTemplate> {
        let path = Path::new(&self.given);
        let mut found = if path.is_file() {
            of_file(path)?
        } else {
            match find_parser(&self.given, &self.sandbox.plugins) {
                _ if path.is_dir() => self.of_model()?,
                Ok(PluginSource::Table(table)) => GivenTemplate {
                    name: self.given.clone(),
                    text: table.template()?,
                    model: None,
                    cases: Some(self.sandbox.plugins.join("tables").join(&self.given).join("cases")),
                },
                Ok(_) => bail!("{} is a parser, and no table: it has no response_template", self.given),
                Err(_) if self.given.contains('/') => self.of_model()?,
                Err(_) => bail!("{}: neither a file, a table (host parser list) nor a model", self.given),
            }
        };
        if let Some(model) = &self.model {
            found.model = Some(TemplateFiles::read(model, None)?);
        }
        Ok(found)
    }

    fn of_model(&self) -> anyhow::Result<GivenTemplate> {
        let files = TemplateFiles::read(&self.given, None)?;
        let table = files.table.clone();
        let text = table.with_context(|| format!("{}: its files have no response_template", self.given))?;
        Ok(GivenTemplate { name: files.name.clone(), text, model: Some(files), cases: None })
    }

    /// The parser of tables, ready to play cases.
    pub(super) fn reader(&self) -> anyhow::Result<Sandboxed> {
        let source = find_parser(TABLE_PARSER, &self.sandbox.plugins)?;
        self.sandbox.load(source, Measures::Resources)
    }

    /// The cases to play, and where they are from.
    pub(super) fn cases(
        &self,
        template: &GivenTemplate,
        reader: &Sandboxed,
    ) -> anyhow::Result<(CaseOrigin, Vec<Recording>)> {
        let options = template.options();
        let own = template.cases.as_deref().filter(|folder| folder.is_dir() && template.model.is_none());
        if let Some(folder) = self.cases.as_deref().or(own) {
            let files = case_files(folder).map_err(anyhow::Error::msg).context("--cases")?;
            ensure!(!files.is_empty(), "--cases: {}: no case files (NAME.json)", folder.display());
            let cases = files.iter().map(|file| with_options(file, &options, reader));
            return Ok((CaseOrigin::Folder, cases.collect::<Result<_, _>>().map_err(anyhow::Error::msg)?));
        }
        if let Some(model) = &template.model {
            let Cases { read, .. } = fit::cases(model, reader, &options).map_err(anyhow::Error::msg)?;
            if !read.is_empty() {
                let cases = read.iter().map(|(name, case)| Recording::parse(name, &case.to_string(), reader));
                let cases = cases.collect::<Result<_, _>>().map_err(anyhow::Error::msg)?;
                return Ok((CaseOrigin::ChatTemplate, cases));
            }
        }
        let walked = walked_cases(reader, &options, &template.prompt()?, self.seed);
        Ok((CaseOrigin::Grammars, walked.map_err(anyhow::Error::msg)?))
    }
}

impl GivenTemplate {
    /// Options by which the parser of tables reads this one.
    pub(super) fn options(&self) -> Vec<(String, String)> {
        vec![(TABLE_OPTION.to_owned(), self.text.clone())]
    }

    /// The template as JSON.
    pub(super) fn value(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.text).with_context(|| self.name.clone())
    }

    /// What a generation prompt ends with: the start anchor, where it is text.
    fn prompt(&self) -> anyhow::Result<String> {
        let value = self.value()?;
        let anchor = &value["start_anchor"];
        Ok(anchor.as_str().or(anchor[0].as_str()).unwrap_or_default().to_owned())
    }
}

/// The template of a file.
fn of_file(path: &Path) -> anyhow::Result<GivenTemplate> {
    let place = || path.display().to_string();
    let text = bounded::regular_text(path, SETTINGS_BYTES).with_context(place)?;
    let around: Around = serde_json::from_str(&text).with_context(place)?;
    let template = match (around.response_template, around.fields) {
        (Some(template), _) => template.get().to_owned(),
        (None, Some(_)) => text,
        (None, None) => bail!("{}: neither a response_template nor a file that has one", place()),
    };
    let cases = Some(path.with_extension("").join("cases")).filter(|cases| cases.is_dir());
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(GivenTemplate { name, text: template, model: None, cases })
}

/// The case of a file, played by this template.
fn with_options(file: &Path, options: &[(String, String)], reader: &Sandboxed) -> Result<Recording, String> {
    let read = || {
        let text = bounded::regular_text(file, SETTINGS_BYTES).map_err(|error| error.to_string())?;
        let mut case: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        for (key, value) in options {
            case["options"][key.as_str()] = value.as_str().into();
        }
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        Recording::parse(&name, &case.to_string(), reader)
    };
    read().map_err(|error| format!("{}: {error}", file.display()))
}
