//! The file's values as defaults of the command line, and what switches for single models leave of
//! them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::file::{ConfigFile, Setting};
use crate::cli::per_model::model_of;

/// Switches that stand for themselves on the command line only.
pub(super) const NOT_IN_FILES: [&str; 6] = ["config", "print-config", "json", "print", "help", "version"];
/// Commands that share a file.
const SHARING: [&str; 4] = ["serve", "run", "chat", "launch"];
/// Switch of the commands that ask, by which they need no model of their own.
const URL: &str = "url";

/// Whether the switch takes values for single models.
pub(super) fn is_per_model(argument: &Arg) -> bool {
    is_named(argument) && !argument.is_hide_env_values_set()
}

/// Whether the switch takes names before its values.
fn is_named(argument: &Arg) -> bool {
    let names = argument.get_value_names().unwrap_or_default();
    names.first().is_some_and(|name| name.starts_with("[NAME=]"))
}

/// Name of the model in a value of the switch, which may be a pair itself (`[NAME=]KEY=VALUE`).
pub(super) fn model_in<'a>(argument: &Arg, value: &'a str) -> Option<&'a str> {
    let mut names = argument.get_value_names().unwrap_or_default().iter();
    let is_pair = names.any(|name| name.strip_prefix("[NAME=]").is_some_and(|rest| rest.contains('=')));
    model_of(value, is_pair)
}

/// Makes the file's values defaults of the subcommand `name`.
pub(super) fn apply(command: Command, name: &str, file: &ConfigFile) -> Result<Command, String> {
    let Some(subcommand) = command.find_subcommand(name) else { return Ok(command) };
    let mut defaults: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for setting in &file.settings {
        let wrong = |reason: String| format!("{}: {}: {reason}", file.place(setting), setting.switch);
        let Some(argument) = argument_of(subcommand, setting) else {
            let mut others = SHARING.iter().filter_map(|other| command.find_subcommand(other));
            if asks(subcommand) && others.any(|other| argument_of(other, setting).is_some()) {
                // A server's own setting says nothing to a command that asks.
                continue;
            }
            return Err(wrong(format!("no such switch; host {name} --help lists them")));
        };
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

/// Whether the command asks a model, here or elsewhere.
fn asks(command: &Command) -> bool {
    command.get_arguments().any(|argument| argument.get_long() == Some(URL))
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
/// no switch of a model's is on the command line. A server elsewhere has models of its own.
///
/// A command that asks takes one model: `--model NAME` chooses that of the file, if it has one.
pub(super) fn merge(
    command: &Command,
    matches: &ArgMatches,
    file: &ConfigFile,
) -> Option<(ConfigFile, Vec<OsString>)> {
    let mut file = file.clone();
    let asks = asks(command);
    if asks && matches.get_raw(URL).is_some() {
        file.settings.retain(|setting| setting.model.is_none() && setting.switch != "model");
        return Some((file, Vec::new()));
    }
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
        let raw: Vec<&str> = raw.filter_map(OsStr::to_str).collect();
        let models: Vec<Option<&str>> = raw.iter().map(|value| model_in(argument, value)).collect();
        let is_chosen = |model: &str| asks && raw.contains(&model);
        let chooses = file.settings.iter().filter_map(|setting| setting.model.as_deref()).any(is_chosen);
        let is_for_all = models.contains(&None) && !(switch == "model" && chooses);
        if switch == "model" && models.contains(&None) {
            file.settings.retain(|setting| setting.model.as_deref().is_none_or(is_chosen));
        }
        let is_replaced = |model: Option<&str>| is_for_all || models.contains(&model);
        file.settings.retain(|setting| setting.switch != switch || !is_replaced(setting.model.as_deref()));
        let left = file.settings.iter().filter(|setting| setting.switch == switch);
        kept.extend(left.flat_map(Setting::arguments).map(|value| format!("--{switch}={value}").into()));
    }
    Some((file, kept))
}
