//! The tables that are shipped, `plugins/tables/NAME.json`, each with its recorded turns in
//! `plugins/tables/NAME/cases`.

use std::path::{Path, PathBuf};

use parser_kit::check_cases_with;
use parser_sdk::{Parser, Request};
use response_template_parser::ResponseTemplate;
use serde_json::Value;

/// The tables' files.
fn tables() -> Vec<PathBuf> {
    let entries = Path::new("../tables").read_dir().expect("the tables");
    let files = entries.map(|entry| entry.expect("an entry").path());
    files.filter(|file| file.extension().is_some_and(|extension| extension == "json")).collect()
}

/// The options with which the table of `file` is read.
fn options(file: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(file).expect("it can be read");
    let table: Value = serde_json::from_str(&text).expect("it is JSON");
    vec![("response_template".to_owned(), table["response_template"].to_string())]
}

#[test]
fn shipped_tables_cases_give_their_items_at_any_cut() {
    let tables = tables();
    assert!(tables.len() >= 15, "{tables:?}");
    for file in tables {
        let cases = file.with_extension("").join("cases");
        let count = check_cases_with::<ResponseTemplate>(&cases, &options(&file));
        assert!(count >= 15, "{}: {count} cases", file.display());
    }
}

#[test]
fn shipped_tables_describe_calls_a_request_demands() {
    for file in tables() {
        let descriptor = ResponseTemplate::describe(&options(&file));
        let descriptor = descriptor.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let grammar = descriptor.grammar.expect("a grammar");
        assert!(!grammar.contains("%refuse forced"), "{}: {grammar}", file.display());
    }
}

#[test]
fn stream_knows_its_tables_markers_without_a_grammar() {
    for file in tables() {
        let options = options(&file);
        let described = ResponseTemplate::describe(&options).expect("a table");
        let request = Request { options, ..Request::default() };
        let of_stream =
            ResponseTemplate::start(&request).and_then(|it| it.stream_descriptor(&request.options));
        let of_stream = of_stream.expect("a stream");
        assert_eq!((of_stream.markers, of_stream.stops), (described.markers, described.stops));
        assert_eq!(of_stream.grammar, None, "{}", file.display());
    }
}
