//! Parsers: found, loaded, tested and bound.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use parser_kit::case::case_files;
use parsers::conformance::{Measures, Sandboxed};
use parsers::shipped::{parser_named, reading_names};
use parsers::{BoundPlugin, CompileCache, ParserLimits, Plugin, PluginSource, ResolveError, Runtime};
use pyo3::prelude::*;

use super::errors::refused;
use super::stream::{BoundParser, Options};

/// The runtimes of this process, by their folder of compiled code. Each has a thread, and is kept.
static RUNTIMES: Mutex<Option<HashMap<Option<PathBuf>, Arc<Runtime>>>> = Mutex::new(None);

fn runtime(cache: Option<PathBuf>) -> PyResult<Arc<Runtime>> {
    let mut runtimes = RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner);
    let runtimes = runtimes.get_or_insert_default();
    if let Some(runtime) = runtimes.get(&cache) {
        return Ok(Arc::clone(runtime));
    }
    let folder = cache.as_deref().map(CompileCache::open).transpose().map_err(refused)?;
    let runtime = Runtime::without_signals(&ParserLimits::default()).map_err(refused)?.with_cache(folder);
    let runtime = Arc::new(runtime);
    runtimes.insert(cache, Arc::clone(&runtime));
    Ok(runtime)
}

/// The parser that was asked for: `bytes` of a component, a path, or the name of a shipped parser or
/// table.
fn find(wanted: &str, bytes: Option<Vec<u8>>) -> PyResult<PluginSource> {
    match bytes {
        Some(bytes) => Ok(PluginSource::Bytes { name: wanted.to_owned(), bytes: bytes.into() }),
        None => parser_named(wanted).map_err(|error| match error {
            ResolveError::NotShipped { .. } => {
                refused(format!("{error}, or brought by an installed package (entry point sluice.parsers)"))
            }
            error => refused(error),
        }),
    }
}

/// Names of the shipped parsers and tables.
#[pyfunction]
pub(super) fn names() -> Vec<&'static str> {
    reading_names().collect()
}

/// Loads a parser. Other threads run meanwhile.
#[pyfunction]
pub(super) fn load(
    py: Python<'_>,
    wanted: &str,
    bytes: Option<Vec<u8>>,
    options: Options,
    cache: Option<PathBuf>,
) -> PyResult<Parser> {
    py.detach(|| {
        let plugin = runtime(cache)?.load(&find(wanted, bytes)?, &options).map_err(refused)?;
        let by_text = plugin.bind(|_| None).map_err(refused)?;
        Ok(Parser { plugin, by_text, options })
    })
}

/// Checks every property of parsers over the case files of a folder, and returns the report as JSON.
/// Other threads run meanwhile.
#[pyfunction]
pub(super) fn test(
    py: Python<'_>,
    wanted: &str,
    bytes: Option<Vec<u8>>,
    cases: PathBuf,
    seed: u64,
) -> PyResult<String> {
    py.detach(|| {
        let (source, files) = (find(wanted, bytes)?, case_files(&cases).map_err(refused)?);
        let measures = Measures::Resources;
        let sandboxed = Sandboxed::without_signals(source, &ParserLimits::default(), measures, |_, _| Ok(()));
        let report = parsers::conformance::test(&files, &sandboxed.map_err(refused)?, seed);
        serde_json::to_string(&report.map_err(refused)?).map_err(refused)
    })
}

/// A loaded parser.
#[pyclass(frozen, module = "sluice_parsers._native")]
pub(super) struct Parser {
    plugin: Arc<Plugin>,
    by_text: BoundPlugin,
    /// Those it was loaded with, which each stream gets, too.
    options: Options,
}

#[pymethods]
impl Parser {
    #[getter]
    fn name(&self) -> &str {
        &self.plugin.descriptor().name
    }

    #[getter]
    fn version(&self) -> &str {
        &self.plugin.descriptor().version
    }

    #[getter]
    fn contract(&self) -> Option<&'static str> {
        self.plugin.contract().map(parsers::ContractVersion::name)
    }

    #[getter]
    fn digest(&self) -> &str {
        self.plugin.digest()
    }

    #[getter]
    fn models(&self) -> Vec<String> {
        self.plugin.descriptor().models.clone()
    }

    #[getter]
    fn markers(&self) -> Vec<String> {
        self.plugin.descriptor().markers.clone()
    }

    #[getter]
    fn stop_markers(&self) -> Vec<String> {
        let descriptor = self.plugin.descriptor();
        descriptor.stops.iter().map(|index| descriptor.markers[*index as usize].clone()).collect()
    }

    #[getter]
    fn trim(&self) -> Vec<&'static str> {
        let trim = self.plugin.descriptor().trim;
        let kinds = [(trim.reasoning, "reasoning"), (trim.content, "message")];
        kinds.into_iter().filter_map(|(trims, kind)| trims.then_some(kind)).collect()
    }

    #[getter]
    fn history_call_ids(&self) -> Option<&str> {
        self.plugin.descriptor().history_call_ids.as_deref()
    }

    #[getter]
    fn reasoning_end(&self) -> Option<&str> {
        self.plugin.descriptor().reasoning_end.as_deref()
    }

    /// Binds the parser to token ids of literals, and to a function that decodes ids.
    fn bind_ids(&self, ids: HashMap<String, u32>, decode: Option<Py<PyAny>>) -> PyResult<BoundParser> {
        let bound = self.plugin.bind(|literal| ids.get(literal).copied()).map_err(refused)?;
        Ok(BoundParser::new(bound, self.by_text.clone(), self.options.clone(), decode))
    }

    fn __repr__(&self) -> String {
        format!("<Parser {} {}>", self.name(), self.version())
    }
}
