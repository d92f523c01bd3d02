//! Outputs of models: the cases of every parser and table that ships.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::{FinishReason, Request, ToolKind};
use parser_kit::case::{Case, MarkerMode, Piece, by_marker, case_files};
use parsers::Plugin;
use parsers::shipped::{TABLE_PARSER, shipped_names};

use super::tokens::{Token, Tokens};
use reader::Reader;

/// A tool of a request.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// JSON schema of its arguments.
    pub parameters: serde_json::Value,
}

/// What a model wrote, and how it is read.
pub struct Output {
    /// Whose case it is, and its name.
    pub name: String,
    /// The parser, bound to `tokens`.
    pub reader: Arc<Reader>,
    /// Tokens of the parser's markers.
    pub tokens: Tokens,
    /// What the façade is told of the request.
    pub request: Request,
    /// The request's tools.
    pub tools: Vec<Tool>,
    /// What the chat template opens the turn with.
    pub opening: Vec<Token>,
    /// What the model wrote.
    pub output: Vec<Token>,
    /// Whether markers that stand in the output as text are markers.
    pub reads_text: bool,
    /// Whether the model ended its turn.
    pub is_whole: bool,
}

impl Output {
    /// Why the turn ends.
    pub fn reason(&self) -> FinishReason {
        if self.is_whole { FinishReason::Stop } else { FinishReason::Length }
    }
}

/// Calls `with` for each case of each parser, but those with custom tools, which the other projects
/// don't have; returns how many there were.
///
/// # Panics
/// A case can't be read.
pub fn each_case(mut with: impl FnMut(&Output)) -> usize {
    let mut count = 0;
    for parser in shipped_names().filter(|name| *name != TABLE_PARSER) {
        let mut loaded = Loaded::default();
        for file in case_files(&folder(parser)).expect("cases") {
            let case = Case::load(&file).expect("a case");
            if case.request().tools.iter().any(|tool| tool.kind == ToolKind::Custom) {
                continue;
            }
            let name = format!("{parser}/{}", file.file_stem().unwrap_or_default().display());
            with(&output(name, parser, &case, &mut loaded));
            count += 1;
        }
    }
    count
}

/// Folder of a parser's cases.
fn folder(parser: &str) -> PathBuf {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../plugins");
    let own = plugins.join(parser).join("cases");
    if own.is_dir() { own } else { plugins.join("tables").join(parser).join("cases") }
}

type Options = Vec<(String, String)>;

/// What was loaded of a parser: it is compiled once for its options.
#[derive(Default)]
struct Loaded {
    plugins: HashMap<Options, Arc<Plugin>>,
    readers: HashMap<(Options, String), (Arc<Reader>, Tokens)>,
}

fn output(name: String, parser: &str, case: &Case, Loaded { plugins, readers }: &mut Loaded) -> Output {
    let mut request = case.request();
    let prompt = &case.generation_prompt;
    let (reader, tokens) = readers.entry((request.options.clone(), prompt.clone())).or_insert_with(|| {
        let options = request.options.clone();
        let plugin = plugins.entry(options.clone()).or_insert_with(|| {
            let reader = Reader::load_with(parser, options.clone()).expect("a shipped parser");
            Arc::clone(reader.plugin())
        });
        let reader = Reader::of(Arc::clone(plugin), options).expect("a shipped parser");
        let tokens = Tokens::new(&reader.plugin().descriptor().markers);
        let reader = reader.with_tokenizer(Arc::new(tokens.clone())).expect("its markers");
        let reader = if prompt.is_empty() { reader } else { reader.opened_by(prompt) };
        (Arc::new(reader), tokens)
    });
    let markers = &reader.plugin().descriptor().markers;
    let reads_text = case.markers == MarkerMode::Text;
    let pieces = case.pieces(markers).into_iter().flatten();
    let pieces: Vec<Piece> = if reads_text {
        let text: String = pieces
            .map(|piece| match piece {
                Piece::Text(text) | Piece::Marker(_, text) => text,
            })
            .collect();
        by_marker(&text, markers)
    } else {
        pieces.collect()
    };
    // The reader gives a stream its options again.
    request.token_markers = Vec::new();
    let tool = |tool: &contract::Tool| Tool {
        name: tool.name.clone(),
        parameters: serde_json::from_str(&tool.schema).unwrap_or_else(|_| serde_json::json!({})),
    };
    Output {
        name,
        reader: Arc::clone(reader),
        tokens: tokens.clone(),
        tools: request.tools.iter().map(tool).collect(),
        opening: tokens.encode(&by_marker(prompt, markers)),
        output: tokens.encode(&pieces),
        reads_text,
        is_whole: case.finish() == FinishReason::Stop,
        request,
    }
}
