//! Tables of pages that name the shipped parsers and tables are those of the registry.
//! `UPDATE_DOCS=1` writes them into the pages.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use registry::{FORMATS, INTERPRETER, TABLES};
use serde_json::Value;

const END: &str = "<!-- end -->";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Name, models and writing of each parser.
fn parsers() -> impl Iterator<Item = [&'static str; 3]> {
    let formats = FORMATS.iter().map(|format| [format.name, format.models, format.how]);
    formats.chain([[INTERPRETER.name, INTERPRETER.models, INTERPRETER.how]])
}

/// Shipped table.
struct Table {
    name: &'static str,
    models: String,
    how: String,
    /// Literals by which `--parser auto` knows a model's chat template.
    markers: Vec<String>,
}

fn tables() -> impl Iterator<Item = Table> {
    TABLES.iter().map(|name| {
        let file = root().join("plugins/tables").join(name).with_extension("json");
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
        let table: Value = serde_json::from_str(&text).expect("JSON");
        let about = table["about"].as_str().expect("what it is about");
        let (models, how) = about.trim_end_matches('.').split_once(": ").expect("models: how they write");
        let markers = table["markers"].as_array().expect("markers").iter();
        let markers = markers.map(|marker| marker.as_str().expect("a literal").to_owned()).collect();
        Table { name, models: models.to_owned(), how: how.to_owned(), markers }
    })
}

/// Row of a table in Markdown.
fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn formats() -> String {
    let mut rows = "| format | read by | how it writes |\n|---|---|---|\n".to_owned();
    for [name, models, how] in parsers() {
        rows += &row(&[models, &format!("parser `{name}`"), how]);
    }
    for Table { name, models, how, .. } in tables() {
        rows += &row(&[&models, &format!("table `{name}`"), &how]);
    }
    rows
}

fn markers() -> String {
    let mut rows = "| table | markers of the chat template |\n|---|---|\n".to_owned();
    for Table { name, markers, .. } in tables() {
        let markers: Vec<String> = markers.iter().map(|marker| format!("`{marker}`")).collect();
        rows += &row(&[&format!("`{name}`"), &markers.join(", ")]);
    }
    rows
}

fn check(page: &str, name: &str, table: &str) {
    let path = root().join(page);
    let text = std::fs::read_to_string(&path).expect("a page");
    let begin = format!("<!-- {name} -->\n");
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{page} has no {begin}"));
    let (_, after) = rest.split_once(END).expect("a table has its end");
    let mut fresh = String::new();
    write!(fresh, "{before}{begin}{table}{END}{after}").expect("a string takes all");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, fresh).expect("it can be written");
    } else {
        assert!(text == fresh, "{page} is stale: run this test with UPDATE_DOCS=1");
    }
}

#[test]
fn page_of_formats_has_each_format_and_table() {
    check("docs/formats.md", "formats", &formats());
    check("docs/formats.md", "tables", &markers());
}
