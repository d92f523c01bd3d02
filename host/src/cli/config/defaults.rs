//! The file's values as defaults of the command line, and what switches for single models leave of
//! them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::file::{ConfigFile, Setting};
use crate::cli::per_model::model_of;

/// Switches that stand for themselves on the command line only.
const NOT_IN_FILES: [&str; 5] = ["config", "print-config", "json", "help", "version"];

/// Whether the switch takes values for single models.
pub(super) fn is_per_model(argument: &Arg) -> bool {
    is_named(argument) && !argument.is_hide_env_values_set()
}

/// Whether the switch takes names before its values.
fn is_named(argument: &Arg) -> bool {
    let names = argument.get_value_names().unwrap_or_default();
    names.first().is_some_and(|name| name.starts_with("[NAME=]"))
}

/// Name of the model in a value of the switch.
fn model_in<'a>(argument: &Arg, value: &'a str) -> Option<&'a str> {
    let is_pair = argument.get_value_names().unwrap_or_default().iter().any(|name| name.contains("]KEY="));
    model_of(value, is_pair)
}

/// Makes the file's values defaults of the subcommand `name`.
pub(super) fn apply(command: Command, name: &str, file: &ConfigFile) -> Result<Command, String> {
    let Some(subcommand) = command.find_subcommand(name) else { return Ok(command) };
    let mut defaults: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for setting in &file.settings {
        let wrong = |reason: String| format!("{}: {}: {reason}", file.place(setting), setting.switch);
        let argument = argument_of(subcommand, setting)
            .ok_or_else(|| wrong(format!("no such switch; host {name} --help lists them")))?;
        let values = checked(argument, setting).map_err(wrong)?;
        defaults.entry(argument.get_id().to_string()).or_default().extend(values);
    }
    // A flag that isn't set has no value.
    let with_default = |argument: Arg| match defaults.remove(argument.get_id().as_str()) {
        Some(values) if !values.is_empty() => argument.default_values(values),
        _ => argument,
    };
    Ok(command.mut_subcommand(name, |subcommand| subcommand.mut_args(with_default)))
}

fn argument_of<'a>(command: &'a Command, setting: &Setting) -> Option<&'a Arg> {
    let switch = setting.switch.as_str();
    let mut arguments = command.get_arguments().filter(|_| !NOT_IN_FILES.contains(&switch));
    arguments.find(|argument| argument.get_long() == Some(switch))
}

/// Values for the command line, if the switch can have so many and for a model.
fn checked(argument: &Arg, setting: &Setting) -> Result<Vec<String>, String> {
    if setting.model.is_some() && !is_per_model(argument) {
        return Err("not a setting of one model: set it outside of its table".to_owned());
    }
    match argument.get_action() {
        ArgAction::SetTrue => match setting.values.as_slice() {
            [value] if value == "true" && !setting.is_list => Ok(vec!["true".to_owned()]),
            [value] if value == "false" && !setting.is_list => Ok(Vec::new()),
            _ => Err("expected true or false".to_owned()),
        },
        ArgAction::Append => Ok(setting.arguments().collect()),
        _ if setting.is_list => Err("expected one value, no list".to_owned()),
        _ => Ok(setting.arguments().collect()),
    }
}

/// The file without what switches replace, and what it says of other models as switches; `None` if
/// no switch of a model's is on the command line.
pub(super) fn merge(
    command: &Command,
    matches: &ArgMatches,
    file: &ConfigFile,
) -> Option<(ConfigFile, Vec<OsString>)> {
    let mut file = file.clone();
    let is_given = |argument: &&Arg| {
        is_per_model(argument)
            && matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    let given: Vec<&Arg> = command.get_arguments().filter(is_given).collect();
    if given.is_empty() {
        return None;
    }
    let mut kept = Vec::new();
    for argument in given {
        let switch = argument.get_long().unwrap_or_default();
        let raw = matches.get_raw(argument.get_id().as_str()).into_iter().flatten();
        let models: Vec<Option<&str>> =
            raw.filter_map(OsStr::to_str).map(|value| model_in(argument, value)).collect();
        let is_for_all = models.contains(&None);
        if switch == "model" && is_for_all {
            file.settings.retain(|setting| setting.model.is_none());
        }
        let is_replaced = |model: Option<&str>| is_for_all || models.contains(&model);
        file.settings.retain(|setting| setting.switch != switch || !is_replaced(setting.model.as_deref()));
        let left = file.settings.iter().filter(|setting| setting.switch == switch);
        kept.extend(left.flat_map(Setting::arguments).map(|value| format!("--{switch}={value}").into()));
    }
    Some((file, kept))
}
