//! The parameter tables of the pages in `docs/api/`: made from the tables of fields, and compared
//! with the pages. `UPDATE_DOCS=1` writes them into the pages.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::ENDPOINTS;
use super::left_out;
use crate::fields::{self, Kinds, Row, Shape, Support, Tables};

const PAGES: [&str; 7] =
    ["responses", "conversations", "chat-completions", "completions", "messages", "tokenize", "models"];
const END: &str = "<!-- end -->";
/// Rows that a table has in common with its page's first one, from which on they aren't said again.
const MANY: usize = 8;

#[test]
fn the_pages_have_the_tables_as_they_are() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/api");
    let mut described = Vec::new();
    for name in PAGES {
        let path = folder.join(name).with_extension("md");
        let page = std::fs::read_to_string(&path).unwrap();
        let mut first = None;
        let (fresh, mut endpoints) = refreshed(&page, "parameters", |path, tables| {
            let table = table(tables);
            let (of, said) = first.get_or_insert_with(|| (path.to_owned(), table.clone()));
            if of == path { table } else { unsaid(&table, of, said) }
        });
        described.append(&mut endpoints);
        compare(name, &path, &page, &fresh);
    }
    let expected = ENDPOINTS.iter().filter(|endpoint| endpoint.request.is_some());
    let mut expected: Vec<String> = expected.map(|endpoint| endpoint.path.to_owned()).collect();
    expected.sort();
    described.sort();
    assert_eq!(described, expected, "each endpoint with a body has its table, once");
}

#[test]
fn the_page_of_what_is_left_out_has_all_of_it() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/api/left-out.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (fresh, paths) = refreshed(&page, "left out", |_, tables| left_out::table(tables));
    assert_eq!(paths, ["/v1/responses", "/v1/chat/completions", "/v1/completions", "/v1/messages"]);
    compare("left-out", &path, &page, &fresh);
}

fn compare(name: &str, path: &Path, page: &str, fresh: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, fresh).unwrap();
    } else {
        assert!(page == fresh, "docs/api/{name}.md is stale: run this test with UPDATE_DOCS=1");
    }
}

/// The page with its tables of this name made anew, and the paths whose tables it has.
fn refreshed(page: &str, name: &str, mut make: impl FnMut(&str, Tables) -> String) -> (String, Vec<String>) {
    let (mut fresh, mut paths, mut rest) = (String::new(), Vec::new(), page);
    let begin = format!("<!-- {name} of ");
    while let Some((before, after)) = rest.split_once(&begin) {
        let (path, after) = after.split_once(" -->").unwrap();
        let (_, after) = after.split_once(END).expect("a table has its end");
        let endpoint = ENDPOINTS.iter().find(|endpoint| endpoint.path == path && endpoint.request.is_some());
        let endpoint = endpoint.expect("a known path");
        write!(fresh, "{before}{begin}{path} -->\n{}{END}", make(path, endpoint.request.unwrap())).unwrap();
        paths.push(path.to_owned());
        rest = after;
    }
    fresh.push_str(rest);
    (fresh, paths)
}

/// The table, whose rows aren't repeated where most are those of the page's first one, which is of
/// the path `of`.
fn unsaid(table: &str, of: &str, first: &str) -> String {
    let said: Vec<&str> = first.lines().skip(2).collect();
    let (own, common): (Vec<&str>, Vec<&str>) = table.lines().skip(2).partition(|row| !said.contains(row));
    if common.len() < MANY {
        return table.to_owned();
    }
    let name = |row: &&str| row.split('`').nth(1).unwrap_or_default().to_owned();
    let names: Vec<String> = own.iter().chain(&common).map(name).collect();
    let lacks: Vec<String> = said.iter().map(name).filter(|name| !names.contains(name)).collect();
    let lacks = lacks.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let without = if lacks.is_empty() { lacks } else { format!(", without {lacks}") };
    let mut text = format!("The parameters are those of `POST {of}`{without}.\n");
    if !own.is_empty() {
        let head: Vec<&str> = table.lines().take(2).collect();
        writeln!(text, "These differ:\n\n{}", [head, own].concat().join("\n")).unwrap();
    }
    text
}

fn table(tables: Tables) -> String {
    let mut fields: Vec<&Row> = fields::all(tables).collect();
    fields.sort_by_key(|field| {
        (field.required.is_none(), matches!(field.support, Support::Ignored), field.name)
    });
    let mut table = "| parameter | type | | how |\n|---|---|---|---|\n".to_owned();
    for field in fields {
        row("", field, &mut table);
    }
    table
}

fn row(prefix: &str, field: &Row, table: &mut String) {
    let name = format!("{prefix}{}", field.name);
    let support = support(field.support);
    let required = if field.required.is_some() { ", required" } else { "" };
    writeln!(table, "| `{name}` | {} | {support}{required} | {} |", words(&field.shape), field.note).unwrap();
    inner(&name, &field.shape, table);
}

fn support(support: Support) -> &'static str {
    match support {
        Support::Supported => "supported",
        Support::InPart(_) => "supported in part",
        Support::Ignored => "ignored",
        Support::Warned => "ignored, with a warning",
        Support::Refused(_) => "refused",
    }
}

fn inner(name: &str, shape: &Shape, table: &mut String) {
    match shape {
        // What says nothing inside a list is on the page of what is left out.
        Shape::List(Shape::Object(fields)) => {
            let fields = fields.iter().filter(|field| is_read(field.support));
            fields.for_each(|field| row(&format!("{name}[]."), field, table));
        }
        Shape::Object(fields) => fields.iter().for_each(|field| row(&format!("{name}."), field, table)),
        Shape::List(of) => inner(&format!("{name}[]"), of, table),
        Shape::Either(shapes) => shapes.iter().for_each(|shape| inner(name, shape, table)),
        Shape::Kinds(kinds) => self::kinds(name, kinds, table),
        _ => {}
    }
}

fn is_read(support: Support) -> bool {
    matches!(support, Support::Supported | Support::InPart(_))
}

fn kinds(name: &str, kinds: &Kinds, table: &mut String) {
    for kind in kinds.of.iter().filter(|kind| is_read(kind.support)) {
        let Some(called) = kind.kind else { continue };
        let fields = kind.fields.iter().filter(|field| is_read(field.support));
        let fields: Vec<String> = fields.map(|field| format!("`{}`", field.name)).collect();
        let colon = if fields.is_empty() { "" } else { ": " };
        let fields = fields.join(", ");
        writeln!(table, "| `{name}` | `{called}`{colon}{fields} | supported | {} |", kind.note).unwrap();
    }
    writeln!(table, "| `{name}` | of another `type` | {} | |", of_others(kinds)).unwrap();
}

fn of_others(kinds: &Kinds) -> &'static str {
    if kinds.others.is_some() { "ignored, with a warning" } else { "refused" }
}

fn words(shape: &Shape) -> String {
    match shape {
        Shape::Any => "any".to_owned(),
        Shape::Boolean => "boolean".to_owned(),
        Shape::Text => "string".to_owned(),
        Shape::Integer(min, max) => integer(*min, *max),
        Shape::UpTo(min, max) => format!("integer, {min} to {max} by default"),
        Shape::Number(min, max) => format!("number, {min} to {max}"),
        Shape::OneOf(values) => {
            values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
        }
        Shape::List(of) => match of {
            Shape::Text => "strings".to_owned(),
            Shape::Integer(..) => "token ids".to_owned(),
            Shape::List(_) => "lists of token ids".to_owned(),
            _ => "list".to_owned(),
        },
        Shape::Object(_) | Shape::Map(_) | Shape::Kinds(_) => "object".to_owned(),
        Shape::Either(shapes) => shapes.iter().map(words).collect::<Vec<_>>().join(" or "),
    }
}

fn integer(min: i64, max: i64) -> String {
    if min == i64::MIN {
        "integer".to_owned()
    } else if max >= u32::MAX.into() {
        format!("integer from {min}")
    } else {
        format!("integer, {min} to {max}")
    }
}
