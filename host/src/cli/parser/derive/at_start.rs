//! Parsers for models that no other one reads, made while the server serves already: derived from the
//! chat template and proved as `host parser derive` does it, and kept beside the compiled parsers for
//! the next start.
//!
//! Invariant: what isn't proved serves nobody; the model's calls stay text then. A kept table is one that
//! this installation wrote, for the same template and the same reader of tables. A kept refusal is the
//! same build's.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use api::case_stream;
use fit::Underived;
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
/// How often it is tried to make one, and the time between.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(10);
/// Ending of a kept table's file.
const ENDING: &str = ".table";
/// Most bytes of a kept table.
const MOST: u64 = 1 << 20;
/// Ending of a kept refusal's file, and most bytes of one and of all.
const REFUSAL: &str = ".refusal";
const MOST_REFUSAL: u64 = 16 << 10;
const MOST_REFUSALS: u64 = 1 << 20;

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
            Some(Ok(table)) => {
                install(model, &maker, table, "derived from the chat template at an earlier start").await;
            }
            Some(Err(reason)) => not_derived(model, &format!("{reason} (as an earlier start found)")),
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
            let made = maker.make_patiently(&files);
            maker.keep(&files, &made);
            match made {
                Ok(table) => {
                    let why = format!(
                        "derived from the chat template in {:.1} s, and proved",
                        began.elapsed().as_secs_f64()
                    );
                    runtime.block_on(install(&model, &maker, table, &why));
                }
                Err(refusal) => not_derived(&model, &refusal.reason),
            }
        }
    };
    if let Err(error) = std::thread::Builder::new().name(NAME.to_owned()).spawn(derive) {
        tracing::warn!(%error, "no parser derived");
    }
}

/// Logs why a model stays without a parser. That its calls go out as text was a warning of the start.
fn not_derived(model: &Model, reason: &str) {
    tracing::info!(model = &*model.label(), reason, "no parser derived: calls go out as text");
}

async fn install(model: &Model, maker: &ParserMaker, table: String, why: &str) {
    let command = "host parser derive --force writes it";
    model.offer_parser(maker.source(table), format!("{why}; {command}")).await;
}

impl ParserMaker {
    fn source(&self, table: String) -> PluginSource {
        table_of(NAME, table, &self.plugins)
    }

    /// Makes a table, and again where it may have failed for what else the machine did.
    fn make_patiently(&self, files: &TemplateFiles) -> Result<String, Refusal> {
        let mut made = self.make(files);
        for _ in 1..ATTEMPTS {
            if !matches!(made, Err(Refusal { is_lasting: false, .. })) {
                break;
            }
            std::thread::sleep(PAUSE);
            made = self.make(files);
        }
        made
    }

    /// Derives a table for the template, and proves it.
    pub(super) fn make(&self, files: &TemplateFiles) -> Result<String, Refusal> {
        let derivation = fit::derive(files, None).map_err(|underived| match underived {
            Underived::Unusable(reason) => Refusal::lasting(reason),
            Underived::Refused(refusal) => Refusal::lasting(refusal.to_string()),
        })?;
        let table = derivation.table;
        let inexpressible = |reason| Refusal::lasting(format!("a table can't say its format: {reason}"));
        let table = table.map_err(inexpressible)?.to_string();
        let proof =
            self.prove(files, table.clone()).map_err(|reason| Refusal { reason, is_lasting: false })?;
        if proof.passes() {
            return Ok(table);
        }
        let faults = proof.faults().into_iter().filter(|(_, faults)| !faults.is_empty());
        let faults: Vec<String> =
            faults.map(|(what, faults)| format!("{what}: {}", faults.join(" "))).collect();
        let reason = format!("what was derived isn't proved ({})", faults.join("; "));
        Err(Refusal { reason, is_lasting: !proof.depends_on_load() })
    }

    fn prove(&self, files: &TemplateFiles, table: String) -> Result<Proof, String> {
        let cache = self.cache.as_ref().and_then(|folder| CompileCache::open(folder).ok());
        let source = self.source(table);
        let loaded = Sandboxed::new(source, &self.limits, cache, Measures::Resources, case_stream::check)?;
        let cases = Cases::new().map_err(|error| format!("no folder for its cases: {error}"))?;
        prove(files, &loaded, &cases.0).map_err(|error| one_line(&error))
    }

    /// What an earlier start kept for this template: the table, or why there is none.
    pub(super) fn kept(&self, files: &TemplateFiles) -> Option<Result<String, String>> {
        let read = |ending, key: String, most| {
            let kept = self.cache(ending)?.read(&key, most);
            let kept = kept.inspect_err(|error| tracing::warn!(%error, "kept parser not used")).ok()??;
            String::from_utf8(kept).ok()
        };
        let table = read(ENDING, self.key(files), MOST).map(Ok);
        table.or_else(|| read(REFUSAL, self.refusal_key(files), MOST_REFUSAL).map(Err))
    }

    /// Keeps what was made for the next start.
    fn keep(&self, files: &TemplateFiles, made: &Result<String, Refusal>) {
        let (ending, key, text) = match made {
            Ok(table) => (ENDING, self.key(files), table),
            Err(Refusal { is_lasting: false, .. }) => return,
            Err(refusal) => (REFUSAL, self.refusal_key(files), &refusal.reason),
        };
        let Some(cache) = self.cache(ending) else { return };
        if let Err(error) = cache.write(&key, text.as_bytes()) {
            tracing::warn!(%error, "what was derived isn't kept for the next start");
        }
        if ending == REFUSAL {
            // Those of other builds are never read again.
            let _ = cache.prune(MOST_REFUSALS);
        }
    }

    fn cache(&self, ending: &'static str) -> Option<CodeCache> {
        CodeCache::open(self.cache.as_ref()?, ending).ok()
    }

    /// Digest of what a table follows from and is read by.
    pub(super) fn key(&self, TemplateFiles { chat, ends, tokens, .. }: &TemplateFiles) -> String {
        let reader = self.source(String::new()).digest();
        // They come in any order.
        let tokens: BTreeSet<_> = tokens.iter().collect();
        digest(format!("{chat:?} {ends:?} {tokens:?} {reader:?}").as_bytes())
    }

    /// Digest of what a refusal follows from: another build may derive what this one can't, and other
    /// limits may let a proof pass.
    fn refusal_key(&self, files: &TemplateFiles) -> String {
        digest(format!("{} {:?} {}", self.key(files), self.limits, build()).as_bytes())
    }
}

/// Why no parser can be derived, in a line.
pub(super) struct Refusal {
    pub(super) reason: String,
    /// Whether this build would always refuse the template.
    is_lasting: bool,
}

impl Refusal {
    fn lasting(reason: String) -> Self {
        Self { reason, is_lasting: true }
    }
}

/// Tells this build from others, those of the same version as well.
fn build() -> String {
    let file = std::env::current_exe().and_then(std::fs::metadata);
    let file = file.ok().map(|file| (file.len(), file.modified().ok()));
    format!("{} {file:?}", env!("CARGO_PKG_VERSION"))
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
