//! Tables: files that say how a format is written, for the parser `response-template`. A model
//! without a `response_template` of its own is served with one. A table is a plugin source like any
//! other: the component that reads tables, and the text of the table.
//!
//! A file is `{"about": …, "markers": […], "response_template": {…}}`. `markers` are literals that
//! the chat template of each model of the format has; a model whose template lacks one isn't given
//! the table by `--parser auto`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::{LoadProblem, one_line};
use super::source::{PluginSource, TableSource, files_in, read_file};

/// Folder of tables in the plugins folder.
const FOLDER: &str = "tables";
/// Largest file of a table, in bytes.
const TABLE_BYTES: u64 = 256 << 10;
/// Option by which the parser that reads tables gets one.
pub const TABLE_OPTION: &str = "response_template";

/// Tables in the binary: the name (`seed-oss`) and the text of each.
pub type ShippedTables = [(&'static str, &'static str)];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile<'a> {
    #[serde(rename = "about")]
    _about: String,
    markers: Vec<String>,
    #[serde(borrow)]
    response_template: &'a RawValue,
}

impl TableSource {
    /// The table `file` of a folder, read by the component `reader`.
    ///
    /// # Errors
    /// The file can't be read, or isn't text.
    pub fn open(file: &Path, reader: PluginSource) -> Result<PluginSource, LoadProblem> {
        let text = String::from_utf8(read_file(file, TABLE_BYTES)?)
            .map_err(|_| LoadProblem::Table("it isn't UTF-8".to_owned()))?;
        let name = file.to_string_lossy().into_owned();
        Ok(PluginSource::Table(Self { name, text: text.into(), reader: Box::new(reader) }))
    }

    /// A table that is no file.
    pub fn of_text(name: &str, text: impl Into<Cow<'static, str>>, reader: PluginSource) -> PluginSource {
        PluginSource::Table(Self { name: name.to_owned(), text: text.into(), reader: Box::new(reader) })
    }

    /// The format's name: the file's name without its extension.
    pub fn format(&self) -> Cow<'_, str> {
        Path::new(&self.name).file_stem().unwrap_or_default().to_string_lossy()
    }

    /// Whether `shows`, which says whether the chat template has a literal, is true of all of the
    /// table's markers.
    pub fn fits(&self, shows: impl Fn(&str) -> bool) -> bool {
        self.read().is_ok_and(|table| table.markers.iter().all(|marker| shows(marker)))
    }

    /// The table itself, as it is written.
    ///
    /// # Errors
    /// The file is no table.
    pub fn template(&self) -> Result<String, LoadProblem> {
        Ok(self.read()?.response_template.get().to_owned())
    }

    /// `options` with the table, unless they have one already.
    pub(super) fn options(&self, options: &[(String, String)]) -> Result<Vec<(String, String)>, LoadProblem> {
        let mut all = options.to_vec();
        if !all.iter().any(|(key, _)| key == TABLE_OPTION) {
            all.push((TABLE_OPTION.to_owned(), self.read()?.response_template.get().to_owned()));
        }
        Ok(all)
    }

    fn read(&self) -> Result<TableFile<'_>, LoadProblem> {
        let table: TableFile = serde_json::from_str(&self.text)
            .map_err(|error| LoadProblem::Table(one_line(&error.to_string())))?;
        if table.markers.is_empty() {
            return Err(LoadProblem::Table("`markers` is empty, name one that the chat template has".into()));
        }
        Ok(table)
    }
}

/// Files of the tables in the plugins folder `dir`, by name; none if it has no folder of tables.
pub fn tables_in(dir: &Path) -> Vec<PathBuf> {
    files_in(&dir.join(FOLDER), "json").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        r#"{"about": "a", "markers": ["<a>", "<b>"], "response_template": {"fields": {"z": 1, "a": 2}}}"#;

    fn table(text: &'static str) -> TableSource {
        TableSource { name: "dir/mine.json".into(), text: text.into(), reader: Box::new(PluginSource::None) }
    }

    #[test]
    fn a_table_fits_a_template_with_all_its_markers() {
        assert!(table(TEXT).fits(|marker| "x<a>y<b>".contains(marker)));
        assert!(!table(TEXT).fits(|marker| "x<a>".contains(marker)));
        assert!(!table("{").fits(|_| true), "a broken table fits nothing");
        assert_eq!(table(TEXT).format(), "mine");
    }

    #[test]
    fn table_is_passed_on_as_written_unless_one_is_given() {
        let option = |text: &str| (TABLE_OPTION.to_owned(), text.to_owned());
        let options = table(TEXT).options(&[]).unwrap();
        assert_eq!(options, [option(r#"{"fields": {"z": 1, "a": 2}}"#)]);
        assert_eq!(table(TEXT).options(&[option("mine")]).unwrap(), [option("mine")]);
    }

    #[test]
    fn what_is_no_table_is_refused_in_one_line() {
        for text in ["", "[]", r#"{"about": "a", "markers": [], "response_template": {}}"#, r#"{"x": 1}"#] {
            let error = table(text).options(&[]).unwrap_err().to_string();
            assert!(error.starts_with("not a table: ") && !error.contains('\n'), "{error}");
        }
    }
}
