//! The tables that are shipped, `plugins/tables/NAME.json`, each with its recorded turns in `plugins/tables/NAME/cases`.

use std::path::{Path, PathBuf};

use parser_sdk::testing::check_cases_with;
use response_template_parser::ResponseTemplate;
use serde_json::Value;

/// The tables' files.
fn tables() -> Vec<PathBuf> {
    let entries = Path::new("../tables").read_dir().expect("the tables");
    let files = entries.map(|entry| entry.expect("an entry").path());
    files.filter(|file| file.extension().is_some_and(|extension| extension == "json")).collect()
}

#[test]
fn every_case_of_a_shipped_table_gives_its_items_however_it_is_cut() {
    let tables = tables();
    assert!(tables.len() >= 15, "{tables:?}");
    for file in tables {
        let text = std::fs::read_to_string(&file).expect("it can be read");
        let table: Value = serde_json::from_str(&text).expect("it is JSON");
        let options = [("response_template".to_owned(), table["response_template"].to_string())];
        let cases = check_cases_with::<ResponseTemplate>(&file.with_extension("").join("cases"), &options);
        assert!(cases >= 15, "{}: {cases} cases", file.display());
    }
}
