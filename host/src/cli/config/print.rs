//! `--print-config`: all settings as a file that can be read again, each with its origin.

use std::fmt::Write as _;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::defaults::{NOT_IN_FILES, is_per_model, model_in};
use super::file::{ConfigFile, key_of};

/// A line of the file: a key, its values, and where they are from.
struct SettingLine {
    model: Option<String>,
    key: String,
    value: String,
    origin: String,
}

/// The settings of a command.
pub(super) fn settings(command: &Command, matches: &ArgMatches, file: Option<&ConfigFile>) -> String {
    let mut rows: Vec<SettingLine> = Vec::new();
    for argument in command.get_arguments() {
        let switch = argument.get_long().unwrap_or_default();
        if !switch.is_empty() && !NOT_IN_FILES.contains(&switch) {
            rows.extend(rows_of(argument, switch, matches, file));
        }
    }
    // Keys of the file itself come before all tables.
    rows.sort_by(|a, b| a.model.cmp(&b.model));
    let mut text = String::new();
    let mut table = &None;
    for row in &rows {
        if row.model != *table {
            table = &row.model;
            let _ = writeln!(text, "\n[model.{}]", toml::Value::from(table.as_deref().unwrap_or_default()));
        }
        let _ = writeln!(text, "{} = {}  # {}", row.key, row.value, row.origin);
    }
    text
}

fn rows_of(
    argument: &Arg,
    switch: &str,
    matches: &ArgMatches,
    file: Option<&ConfigFile>,
) -> Vec<SettingLine> {
    let id = argument.get_id().as_str();
    let (Some(source), Some(raw)) = (matches.value_source(id), matches.get_raw(id)) else {
        return Vec::new();
    };
    let values: Vec<String> = raw.map(|value| value.to_string_lossy().into_owned()).collect();
    let row = |model: Option<&str>, key: &str, values: &[String]| SettingLine {
        model: model.map(str::to_owned),
        key: key.to_owned(),
        value: written(argument, values),
        origin: origin(argument, switch, model, source, file),
    };
    if argument.is_hide_env_values_set() {
        let hidden =
            SettingLine { key: format!("# {switch}"), value: "\"***\"".to_owned(), ..row(None, switch, &[]) };
        return vec![hidden];
    }
    if !is_per_model(argument) {
        return vec![row(None, switch, &values)];
    }
    let mut by_model: Vec<(Option<&str>, Vec<String>)> = Vec::new();
    for value in &values {
        let model = model_in(argument, value);
        let value = model.map_or(&**value, |model| &value[model.len() + 1..]).to_owned();
        match by_model.iter_mut().find(|(of, _)| *of == model) {
            Some((_, values)) => values.push(value),
            None => by_model.push((model, vec![value])),
        }
    }
    by_model
        .iter()
        .map(|(model, values)| row(*model, model.map_or(switch, |_| key_of(switch)), values))
        .collect()
}

/// Values in TOML.
fn written(argument: &Arg, values: &[String]) -> String {
    let value = |text: &String| match text.parse::<i64>() {
        Ok(number) if number.to_string() == *text => toml::Value::from(number),
        _ => toml::Value::from(text.as_str()),
    };
    match (argument.get_action(), values) {
        (ArgAction::SetTrue, [value]) => value.clone(),
        (ArgAction::Append, [single]) if is_per_model(argument) => value(single).to_string(),
        (ArgAction::Append, values) => toml::Value::Array(values.iter().map(value).collect()).to_string(),
        (_, [single]) => value(single).to_string(),
        (_, values) => toml::Value::Array(values.iter().map(value).collect()).to_string(),
    }
}

fn origin(
    argument: &Arg,
    switch: &str,
    model: Option<&str>,
    source: ValueSource,
    file: Option<&ConfigFile>,
) -> String {
    let place = || {
        let file = file?;
        let mut settings = file.settings.iter();
        let setting =
            settings.find(|setting| setting.switch == switch && setting.model.as_deref() == model)?;
        Some(file.place(setting))
    };
    match source {
        ValueSource::EnvVariable => {
            let name = argument.get_env().map(|name| name.to_string_lossy().into_owned());
            format!("environment {}", name.unwrap_or_default())
        }
        ValueSource::DefaultValue => place().unwrap_or_else(|| "default".to_owned()),
        // What the file says of other models is given to the command line as switches.
        _ if is_per_model(argument) => place().unwrap_or_else(|| "switch".to_owned()),
        _ => "switch".to_owned(),
    }
}
