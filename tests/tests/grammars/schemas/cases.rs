//! Schemas with valid and invalid values: ours under `data/`, and those of more folders
//! (`SLUICE_SCHEMAS`).
//!
//! A file is a list of `{"schema", "valid", "invalid"}`. Values about which the validator disagrees
//! with the data don't count, so a mistake in the data isn't reported as a fault.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Environment variable that lists folders of more schemas, separated by colons:
/// `tests/json-schema-suite.sh` makes one.
const FOLDERS: &str = "SLUICE_SCHEMAS";

/// Schema with values that it allows and values that it refuses.
pub(super) struct Case {
    /// Name of the file and index in it.
    pub(super) name: String,
    pub(super) schema: Value,
    pub(super) valid: Vec<Value>,
    pub(super) invalid: Vec<Value>,
}

/// Cases of this repository and of the folders in `SLUICE_SCHEMAS`.
pub(super) fn all() -> Vec<Case> {
    let more = std::env::var_os(FOLDERS);
    let more = more.iter().flat_map(std::env::split_paths).flat_map(|folder| of(&folder));
    ours().into_iter().chain(more).collect()
}

/// Cases of this repository.
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

/// Whether the validator can read the schema, with all that it refers to.
pub(super) fn is_readable(schema: &Value) -> bool {
    jsonschema::options().build(schema).is_ok()
}

/// Checks with the validator, formats included, that the schema allows the value; an error also
/// where the validator can't read the schema.
pub(crate) fn is_valid(schema: &Value, value: &Value) -> Result<(), String> {
    let validator = jsonschema::options().should_validate_formats(true).build(schema);
    let validator = validator.map_err(|error| error.to_string())?;
    validator.validate(value).map_err(|error| format!("{value}: {error}"))
}
