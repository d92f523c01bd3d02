//! Test fixtures of models: the embedded model with an engine of the test.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use engine::Engine;

use super::served::Model;
use super::shared::SharedParts;
use super::source::TokenSource;
use super::{EngineChoice, ModelOptions, SharedOptions};
use crate::limits::ModelLimits;
use mask::GrammarShare;
use parsers::{CompileCache, ParserLimits, Runtime};

/// The embedded model with its tokenizer, its template and the parser that claims it, over this
/// engine.
pub(super) fn model_over(engine: impl Engine + 'static) -> Model {
    let mut script = tempfile::NamedTempFile::new().unwrap();
    script.write_all(br#"{"rules": [{"text": "x"}]}"#).unwrap();
    let options = ModelOptions::new("none", EngineChoice::Replay(script.path().to_owned()));
    let limits = ModelLimits::default();
    let shared = SharedOptions { parser_cache: Some(parser_cache()), ..SharedOptions::default() };
    let shared = SharedParts::new(&shared, &limits.parser).unwrap();
    let model = Model::load(&options, &shared, &limits, &mut |_, _| {}).unwrap();
    model.with_source(TokenSource::Engine(Box::new(engine)))
}

/// Runtime that compiles each parser once for all tests.
pub(super) fn runtime(limits: &ParserLimits) -> Runtime {
    Runtime::new(limits).unwrap().with_cache(Some(compile_cache()))
}

/// What the grammars of a test share.
pub(crate) fn grammar_share() -> Arc<GrammarShare> {
    Arc::new(GrammarShare::new(Some(compile_cache())))
}

fn compile_cache() -> CompileCache {
    CompileCache::open(&parser_cache()).unwrap()
}

fn parser_cache() -> PathBuf {
    std::env::temp_dir().join("sluice-tests/parsers")
}
