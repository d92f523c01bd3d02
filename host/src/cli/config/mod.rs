//! `--config`: a TOML file with the switches of `serve`, which are those of `doctor`, too. The
//! commands that ask (`run`, `chat`, `launch`) take what they have in common with it, and their own.
//!
//! Its keys are the long switches, and a table `[model.NAME]` has those of one model. The file's
//! values become defaults of the command line, so that each is checked as a switch is. Precedence:
//! switch, environment, file, default. A switch replaces the file's whole list; one for a model
//! (`NAME=VALUE`) only what the file says of that model.

mod defaults;
mod file;
mod print;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Command};

use file::ConfigFile;

/// The switches.
#[derive(clap::Args)]
pub(super) struct ConfigArguments {
    /// File of switches in TOML: `kv-cache = 4096`, `allow-host = ["a", "b"]`; a table
    /// `[model.NAME]` has the switches of one model, and its `path` and `aliases`. Switches and
    /// variables count more than the file [default: none].
    #[arg(long, value_name = "FILE", env = "SLUICE_CONFIG")]
    config: Option<PathBuf>,
    /// Print all settings as such a file, each with its origin, and end.
    #[arg(long)]
    print_config: bool,
}

impl ConfigArguments {
    /// Whether the settings are to be printed only.
    pub(super) fn is_printed(&self) -> bool {
        self.print_config
    }
}

/// The command line, completed by the file that it names.
pub(super) struct Parsed {
    pub(super) command: Command,
    pub(super) matches: ArgMatches,
    /// The file, if there is one, without what the command line replaces.
    file: Option<ConfigFile>,
}

/// Why a command line and its file can't be used.
pub(super) enum ConfigError {
    /// The command line is wrong, or a value of the file; then `place` is where it stands.
    Usage { error: clap::Error, place: Option<String> },
    /// The file is wrong.
    File(String),
}

impl From<String> for ConfigError {
    fn from(error: String) -> Self {
        Self::File(error)
    }
}

impl Parsed {
    /// Reads the arguments, and the file if they, or the environment, name one.
    pub(super) fn of(command: Command, arguments: &[OsString]) -> Result<Self, ConfigError> {
        let Some(path) = named_file(&command, arguments) else {
            return Self::with(command, arguments, None);
        };
        let file = ConfigFile::read(&path)?;
        let parsed = Self::with(command.clone(), arguments, Some(file))?;
        let Some((file, kept)) = parsed.replaced() else { return Ok(parsed) };
        let arguments =
            arguments.iter().take(2).cloned().chain(kept).chain(arguments.iter().skip(2).cloned());
        Self::with(command, &arguments.collect::<Vec<_>>(), Some(file))
    }

    fn with(command: Command, arguments: &[OsString], file: Option<ConfigFile>) -> Result<Self, ConfigError> {
        let name = arguments.get(1).and_then(|name| name.to_str()).unwrap_or_default();
        let mut command = match &file {
            Some(file) => defaults::apply(command, name, file)?,
            None => command,
        };
        match command.try_get_matches_from_mut(arguments) {
            Ok(matches) => Ok(Self { command, matches, file }),
            Err(error) => {
                let place = file.and_then(|file| file.place_of(&argument(&error)?, &value(&error)?));
                Err(ConfigError::Usage { error, place })
            }
        }
    }

    /// The file without what switches replace for single models, and what it says of other models
    /// as switches; `None` if no switch is for a model, or for a server elsewhere.
    fn replaced(&self) -> Option<(ConfigFile, Vec<OsString>)> {
        let (name, matches) = self.matches.subcommand()?;
        defaults::merge(self.command.find_subcommand(name)?, matches, self.file.as_ref()?)
    }

    /// The file that was read, if there is one.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_ref().map(ConfigFile::path)
    }

    /// All settings of the subcommand as a file.
    pub(super) fn print(&self) -> String {
        let subcommand = self.matches.subcommand();
        let command = subcommand.and_then(|(name, _)| self.command.find_subcommand(name));
        match subcommand.zip(command) {
            Some(((_, matches), command)) => print::settings(command, matches, self.file.as_ref()),
            None => String::new(),
        }
    }
}

/// The file that the arguments, or the environment, name. Whether they are right is said later.
fn named_file(command: &Command, arguments: &[OsString]) -> Option<PathBuf> {
    let mut command = command.clone().ignore_errors(true);
    let matches = command.try_get_matches_from_mut(arguments).ok()?;
    let (_, matches) = matches.subcommand()?;
    matches.try_get_one::<PathBuf>("config").ok().flatten().cloned()
}

fn argument(error: &clap::Error) -> Option<String> {
    text(error, ContextKind::InvalidArg)
}

fn value(error: &clap::Error) -> Option<String> {
    text(error, ContextKind::InvalidValue)
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        _ => None,
    }
}
