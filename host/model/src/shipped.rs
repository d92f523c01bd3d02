//! Parsers inside the binary.

use std::path::Path;

use parsers::{PluginSource, ResolveError, Shipped, ShippedTables, TableSource, resolve, tables_in};

/// Name and component of each parser. The name is the one in its descriptor.
pub(super) static SHIPPED: &Shipped = &[
    ("qwen3", include_bytes!("../../../plugins/qwen3.wasm")),
    ("qwen3-coder", include_bytes!("../../../plugins/qwen3-coder.wasm")),
    ("harmony", include_bytes!("../../../plugins/harmony.wasm")),
    ("kimi-k2", include_bytes!("../../../plugins/kimi-k2.wasm")),
    ("deepseek-v3", include_bytes!("../../../plugins/deepseek-v3.wasm")),
    ("glm", include_bytes!("../../../plugins/glm.wasm")),
    ("llama3", include_bytes!("../../../plugins/llama3.wasm")),
    ("mistral", include_bytes!("../../../plugins/mistral.wasm")),
    ("minimax-m2", include_bytes!("../../../plugins/minimax-m2.wasm")),
    ("minimax-m3", include_bytes!("../../../plugins/minimax-m3.wasm")),
    ("gemma4", include_bytes!("../../../plugins/gemma4.wasm")),
    ("pythonic", include_bytes!("../../../plugins/pythonic.wasm")),
    ("apertus", include_bytes!("../../../plugins/apertus.wasm")),
    ("deepseek-v4", include_bytes!("../../../plugins/deepseek-v4.wasm")),
    ("hunyuan", include_bytes!("../../../plugins/hunyuan.wasm")),
    ("kimi-k3", include_bytes!("../../../plugins/kimi-k3.wasm")),
    ("muse", include_bytes!("../../../plugins/muse.wasm")),
    ("response-template", include_bytes!("../../../plugins/response-template.wasm")),
];

/// Name and text of each table.
static TABLES: &ShippedTables = &[
    ("apriel", include_str!("../../../plugins/tables/apriel.json")),
    ("cohere", include_str!("../../../plugins/tables/cohere.json")),
    ("dots", include_str!("../../../plugins/tables/dots.json")),
    ("ernie", include_str!("../../../plugins/tables/ernie.json")),
    ("gigachat3", include_str!("../../../plugins/tables/gigachat3.json")),
    ("granite3", include_str!("../../../plugins/tables/granite3.json")),
    ("hy3", include_str!("../../../plugins/tables/hy3.json")),
    ("inkling", include_str!("../../../plugins/tables/inkling.json")),
    ("internlm", include_str!("../../../plugins/tables/internlm.json")),
    ("jamba", include_str!("../../../plugins/tables/jamba.json")),
    ("k2-horizon", include_str!("../../../plugins/tables/k2-horizon.json")),
    ("laguna", include_str!("../../../plugins/tables/laguna.json")),
    ("longcat", include_str!("../../../plugins/tables/longcat.json")),
    ("longcat-lite", include_str!("../../../plugins/tables/longcat-lite.json")),
    ("minicpm5", include_str!("../../../plugins/tables/minicpm5.json")),
    ("minimax-m1", include_str!("../../../plugins/tables/minimax-m1.json")),
    ("nemotron", include_str!("../../../plugins/tables/nemotron.json")),
    ("phi4-mini", include_str!("../../../plugins/tables/phi4-mini.json")),
    ("plamo3", include_str!("../../../plugins/tables/plamo3.json")),
    ("seed-oss", include_str!("../../../plugins/tables/seed-oss.json")),
    ("solar", include_str!("../../../plugins/tables/solar.json")),
    ("step3", include_str!("../../../plugins/tables/step3.json")),
];

/// Name of the parser that reads tables.
pub(super) const TABLE_PARSER: &str = "response-template";

/// Finds a parser as `--parser` does: a file, a name in the folder `plugins`, or one inside the
/// binary; among those a table, which comes after parsers of its name.
///
/// # Errors
/// There is no parser of that name, or its table can't be read.
pub fn find_parser(wanted: &str, plugins: &Path) -> Result<PluginSource, ResolveError> {
    match resolve(wanted, plugins, SHIPPED) {
        Ok(PluginSource::File(path)) if path.extension().is_some_and(|extension| extension == "json") => {
            open_table(&path, plugins)
        }
        Err(ResolveError::NotFound { wanted, dir, in_folder, shipped }) => {
            let table = tables(plugins).into_iter().find(|(name, _)| *name == wanted);
            let names = TABLES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            let shipped = format!("{shipped}, {names}");
            table.map_or(Err(ResolveError::NotFound { wanted, dir, in_folder, shipped }), |(_, table)| table)
        }
        found => found,
    }
}

/// Returns the tables by name, each with its source, or with the reason why it can't be read: those
/// of the folder `tables` in `plugins`, then those inside the binary that no file replaces.
pub fn tables(plugins: &Path) -> Vec<(String, Result<PluginSource, ResolveError>)> {
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let files = tables_in(plugins).into_iter().map(|path| (name(&path), open_table(&path, plugins)));
    let mut tables: Vec<_> = files.collect();
    for (name, text) in TABLES {
        if !tables.iter().any(|(file, _)| file == name) {
            let table = TableSource::shipped(name, text, table_reader(plugins));
            tables.push(((*name).to_owned(), Ok(table)));
        }
    }
    tables
}

fn open_table(path: &Path, plugins: &Path) -> Result<PluginSource, ResolveError> {
    let unreadable =
        |problem| ResolveError::Table { path: path.display().to_string(), problem: format!("{problem}") };
    TableSource::open(path, table_reader(plugins)).map_err(unreadable)
}

/// The component that reads tables: the one in the folder, else the shipped one.
fn table_reader(plugins: &Path) -> PluginSource {
    let file = plugins.join(TABLE_PARSER).with_extension("wasm");
    let shipped = shipped_parsers().find(|parser| parser.name() == TABLE_PARSER);
    if file.is_file() { PluginSource::File(file) } else { shipped.unwrap_or(PluginSource::File(file)) }
}

/// Returns the parsers inside the binary.
pub fn shipped_parsers() -> impl Iterator<Item = PluginSource> {
    SHIPPED
        .iter()
        .map(|(name, bytes)| PluginSource::Bytes { name: (*name).to_owned(), bytes: (*bytes).into() })
}
