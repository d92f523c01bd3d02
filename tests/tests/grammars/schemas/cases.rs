//! Schemas with what satisfies them and what doesn't: ours under `data/`, and those of more folders (`SLUICE_SCHEMAS`).
//!
//! A file is a list of `{"schema", "valid", "invalid"}`. The validator has to agree with each, so a mistake in the data is no finding.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Folders of more schemas, between colons: `tests/json-schema-suite.sh` makes one.
const FOLDERS: &str = "SLUICE_SCHEMAS";

/// A schema, and values that it allows and refuses.
pub(super) struct Case {
    /// File and place in it.
    pub(super) name: String,
    pub(super) schema: Value,
    pub(super) valid: Vec<Value>,
    pub(super) invalid: Vec<Value>,
}

/// All of them.
pub(super) fn all() -> Vec<Case> {
    let more = std::env::var_os(FOLDERS);
    let more = more.iter().flat_map(std::env::split_paths).flat_map(|folder| of(&folder));
    ours().into_iter().chain(more).collect()
}

/// Those of this repository.
pub(super) fn ours() -> Vec<Case> {
    of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/grammars/schemas/data"))
}

fn of(folder: &Path) -> Vec<Case> {
    let mut files = files(folder);
    files.sort();
    files.iter().flat_map(|file| read(file)).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("a file").path()).collect()
}

fn read(file: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(file).expect("a file of schemas");
    let cases: Vec<Value> = serde_json::from_str(&text).expect("a list of schemas");
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let list = |value: &Value| value.as_array().cloned().expect("a list of instances");
    let case = |(at, case): (usize, &Value)| Case {
        name: format!("{stem}:{at}"),
        schema: case["schema"].clone(),
        valid: list(&case["valid"]),
        invalid: list(&case["invalid"]),
    };
    cases.iter().enumerate().map(case).collect()
}

/// Whether the validator knows all that the schema refers to.
pub(super) fn is_readable(schema: &Value) -> bool {
    jsonschema::options().build(schema).is_ok()
}

/// Whether the schema allows the value, by the validator, which checks formats too; an error where it can't read the schema.
pub(crate) fn is_valid(schema: &Value, value: &Value) -> Result<(), String> {
    let validator = jsonschema::options().should_validate_formats(true).build(schema);
    let validator = validator.map_err(|error| error.to_string())?;
    validator.validate(value).map_err(|error| format!("{value}: {error}"))
}
