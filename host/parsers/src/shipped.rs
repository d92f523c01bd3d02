//! Parsers inside the program, and how one is found by its name.

use std::collections::BTreeSet;
use std::path::Path;

use super::source::{PluginSource, ResolveError, Shipped, TableSource, plugins_in, resolve};
use super::table::{ShippedTables, tables_in};

// Paths in what the list expands to begin at the list.
macro_rules! registry {
    (
        formats { $($module:ident $format:literal $parser:ident $models:literal $how:literal;)* }
        interpreter { $reader:ident $reader_name:literal $($rest:tt)* }
        tables { $($table:literal)* }
    ) => {
        /// Name and component of each parser. The name is the one in its descriptor.
        pub static SHIPPED: &Shipped = &[
            $(($format, include_bytes!(concat!("../", $format, ".wasm"))),)*
            ($reader_name, include_bytes!(concat!("../", $reader_name, ".wasm"))),
        ];

        /// Name and text of each table.
        static TABLES: &ShippedTables =
            &[$(($table, include_str!(concat!("../tables/", $table, ".json")))),*];

        /// Name of the parser that reads tables.
        /// Name of the parser that reads tables.
        pub const TABLE_PARSER: &str = $reader_name;
    };
}

include!("../../../plugins/registry/list.rs");

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

/// The parser or table inside the program that has this name.
pub fn shipped_parser(name: &str) -> Option<PluginSource> {
    let parser = shipped_parsers().find(|parser| parser.name() == name);
    parser.or_else(|| {
        let (name, text) = TABLES.iter().find(|(table, _)| *table == name)?;
        let reader = shipped_parsers().find(|parser| parser.name() == TABLE_PARSER)?;
        Some(TableSource::of_text(name, *text, reader))
    })
}

/// Finds a parser for a program without a folder of parsers: the file at a path, which has a
/// separator, or one inside the program. What reads a table's file is inside the program, too.
///
/// # Errors
/// There is no such parser, or its table can't be read.
pub fn parser_named(wanted: &str) -> Result<PluginSource, ResolveError> {
    if wanted.contains(std::path::is_separator) {
        return find_parser(wanted, Path::new("/dev/null"));
    }
    let shipped = || reading_names().collect::<Vec<_>>().join(", ");
    shipped_parser(wanted)
        .ok_or_else(|| ResolveError::NotShipped { wanted: wanted.to_owned(), shipped: shipped() })
}

/// Names that [`parser_named`] knows and that read a format, in order.
pub fn reading_names() -> impl Iterator<Item = &'static str> {
    // What reads tables is no parser without one.
    shipped_names().filter(|name| *name != TABLE_PARSER).collect::<BTreeSet<_>>().into_iter()
}

/// Names of the parsers and tables inside the program.
pub fn shipped_names() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name).chain(TABLES.iter().map(|(name, _)| *name))
}

/// Names that [`find_parser`] knows, `none` included: of the folder `plugins`, then of the binary.
pub fn parser_names(plugins: &Path) -> Vec<String> {
    let files = plugins_in(plugins).unwrap_or_default().into_iter().chain(tables_in(plugins));
    let files = files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let names = files.chain(shipped_names().chain(["none"]).map(str::to_owned));
    // What reads tables is no parser without one.
    let names = names.filter(|name| name != TABLE_PARSER && is_parser_name(name));
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Whether a client may ask for a parser by this name, which is no path then.
pub fn is_parser_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// Returns the tables by name, each with its source, or with the reason why it can't be read: those
/// of the folder `tables` in `plugins`, then those inside the binary that no file replaces.
pub fn tables(plugins: &Path) -> Vec<(String, Result<PluginSource, ResolveError>)> {
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let files = tables_in(plugins).into_iter().map(|path| (name(&path), open_table(&path, plugins)));
    let mut tables: Vec<_> = files.collect();
    for (name, text) in TABLES {
        if !tables.iter().any(|(file, _)| file == name) {
            let table = TableSource::of_text(name, *text, table_reader(plugins));
            tables.push(((*name).to_owned(), Ok(table)));
        }
    }
    tables
}

/// A table that is no file, as a parser of this name. `plugins` may have the component that reads it.
pub fn table_of(name: &str, text: String, plugins: &Path) -> PluginSource {
    TableSource::of_text(name, text, table_reader(plugins))
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
