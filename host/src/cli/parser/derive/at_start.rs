//! Parsers for models that no other one reads, made while the server serves already: derived from the
//! chat template and proved as `host parser derive` does it, and kept beside the compiled parsers for
//! the next start.
//!
//! Invariant: what isn't proved serves nobody; the model's calls stay text then. A kept table is one that
//! this installation wrote, for the same template and the same reader of tables.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use api::case_stream;
use fit::{Derivation, Underived};
use model::{Model, Models, TemplateFiles, table_of};
use parsers::conformance::{Measures, Sandboxed};
use parsers::{CompileCache, ParserLimits, PluginSource, digest};
use system::code_cache::CodeCache;
use system::private::prepare_folder;
use system::random::hex;

use super::proof::{Proof, prove};
use crate::cli::one_line;

/// Name of a derived parser.
const NAME: &str = "derived";
/// Ending of a kept table's file.
const ENDING: &str = ".table";
/// Most bytes of a kept table.
const MOST: u64 = 1 << 20;

/// What makes parsers for a server's models.
#[derive(Clone)]
pub(in crate::cli) struct ParserMaker {
    /// Folder of compiled parsers; none if nothing is kept.
    pub(in crate::cli) cache: Option<PathBuf>,
    /// Folder of parsers, where the reader of tables may lie.
    pub(in crate::cli) plugins: PathBuf,
    pub(in crate::cli) limits: ParserLimits,
}

/// Gives every model that lacks a parser the one that an earlier start derived, and derives the
/// others one after the other, on a thread that the process doesn't wait for.
pub(in crate::cli) async fn derive_missing(models: &Models, maker: ParserMaker) {
    let mut missing = Vec::new();
    for model in models.iter().filter(|model| model.lacks_parser()) {
        match maker.kept(&model.template_files()) {
            Some(table) => {
                install(model, &maker, table, "derived from the chat template at an earlier start").await;
            }
            None => missing.push(model.clone()),
        }
    }
    if missing.is_empty() {
        return;
    }
    let runtime = tokio::runtime::Handle::current();
    let derive = move || {
        for model in missing {
            let (began, files) = (Instant::now(), model.template_files());
            tracing::info!(
                model = &*model.label(),
                "deriving a parser from the chat template: calls go out as text until it is there"
            );
            match maker.make(&files) {
                Ok(table) => {
                    maker.keep(&files, &table);
                    let why = format!(
                        "derived from the chat template in {:.1} s, and proved",
                        began.elapsed().as_secs_f64()
                    );
                    runtime.block_on(install(&model, &maker, table, &why));
                }
                Err(reason) => {
                    // That calls go out as text was a warning of the start.
                    tracing::info!(
                        model = &*model.label(),
                        reason,
                        "no parser derived: calls go out as text"
                    );
                }
            }
        }
    };
    if let Err(error) = std::thread::Builder::new().name(NAME.to_owned()).spawn(derive) {
        tracing::warn!(%error, "no parser derived");
    }
}

async fn install(model: &Model, maker: &ParserMaker, table: String, why: &str) {
    let command = "host parser derive --force writes it";
    model.offer_parser(maker.source(table), format!("{why}; {command}")).await;
}

impl ParserMaker {
    fn source(&self, table: String) -> PluginSource {
        table_of(NAME, table, &self.plugins)
    }

    /// What a start finds for the template, in words.
    ///
    /// # Errors
    /// Nothing, for this reason: one line.
    pub(in crate::cli) fn foresee(&self, files: &TemplateFiles) -> Result<&'static str, String> {
        match self.kept(files) {
            Some(_) => Ok("derived from the chat template at an earlier start"),
            None => self.make(files).map(|_| "derived from the chat template, and proved, while it serves"),
        }
    }

    /// Derives a table for the template, and proves it. The error has one line.
    fn make(&self, files: &TemplateFiles) -> Result<String, String> {
        let Derivation { table, .. } = fit::derive(files, None).map_err(|underived| match underived {
            Underived::Unusable(reason) => reason,
            Underived::Refused(refusal) => refusal.to_string(),
        })?;
        let table = table.map_err(|reason| format!("a table can't say its format: {reason}"))?.to_string();
        let proof = self.prove(files, table.clone())?;
        if proof.passes() {
            return Ok(table);
        }
        let faults = proof.faults().into_iter().filter(|(_, faults)| !faults.is_empty());
        let faults: Vec<String> =
            faults.map(|(what, faults)| format!("{what}: {}", faults.join(" "))).collect();
        Err(format!("what was derived isn't proved ({})", faults.join("; ")))
    }

    fn prove(&self, files: &TemplateFiles, table: String) -> Result<Proof, String> {
        let cache = self.cache.as_ref().and_then(|folder| CompileCache::open(folder).ok());
        let source = self.source(table);
        let loaded = Sandboxed::new(source, &self.limits, cache, Measures::Resources, case_stream::check)?;
        let cases = Cases::new().map_err(|error| format!("no folder for its cases: {error}"))?;
        prove(files, &loaded, &cases.0).map_err(|error| one_line(&error))
    }

    /// The table that was kept for this template.
    fn kept(&self, files: &TemplateFiles) -> Option<String> {
        let table = self.tables()?.read(&self.key(files), MOST);
        let table = table.inspect_err(|error| tracing::warn!(%error, "kept parser not used")).ok()??;
        String::from_utf8(table).ok()
    }

    fn keep(&self, files: &TemplateFiles, table: &str) {
        let written = self.tables().map(|tables| tables.write(&self.key(files), table.as_bytes()));
        if let Some(Err(error)) = written {
            tracing::warn!(%error, "the parser isn't kept for the next start");
        }
    }

    fn tables(&self) -> Option<CodeCache> {
        CodeCache::open(self.cache.as_ref()?, ENDING).ok()
    }

    /// Digest of what a table follows from and is read by.
    fn key(&self, TemplateFiles { chat, ends, tokens, .. }: &TemplateFiles) -> String {
        let reader = self.source(String::new()).digest();
        // They come in any order.
        let tokens: BTreeSet<_> = tokens.iter().collect();
        digest(format!("{chat:?} {ends:?} {tokens:?} {reader:?}").as_bytes())
    }
}

/// A folder for a proof's cases, which goes with the value.
struct Cases(PathBuf);

impl Cases {
    fn new() -> Result<Self, system::private::PrivateError> {
        let folder = std::env::temp_dir().join(format!("sluice-derive-{}", hex::<16>()));
        prepare_folder(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Cases {
    fn drop(&mut self) {
        // What can't be removed is in the folder for such files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
