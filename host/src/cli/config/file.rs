//! Reader of a configuration file: TOML becomes values of switches, each with its line.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use system::bounded;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Largest file, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Table of the models, and the keys in it that aren't the switch's name.
const MODELS: &str = "model";
const MODEL_KEYS: [(&str, &str); 2] = [("path", "model"), ("aliases", "served-model-name")];

/// A configuration file.
#[derive(Debug, Clone)]
pub(super) struct ConfigFile {
    path: PathBuf,
    pub(super) settings: Vec<Setting>,
}

/// A key and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// Long name of the switch.
    pub(super) switch: String,
    /// The model in whose table it stands.
    pub(super) model: Option<String>,
    /// Values as the switch takes them, without the model's name.
    pub(super) values: Vec<String>,
    /// Whether it is a list.
    pub(super) is_list: bool,
    pub(super) line: usize,
}

impl ConfigFile {
    /// Reads a file. The error is one line with the place.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let wrong = |error: io::Error| format!("--config {}: {error}", path.display());
        let file = File::open(path).map_err(wrong)?;
        let metadata = file.metadata().map_err(wrong)?;
        let text = bounded::text_of(file, MAX_BYTES).map_err(wrong)?;
        let config = Self { path: path.to_owned(), settings: settings(&text, path)? };
        let key = config.settings.iter().find(|setting| setting.switch == "api-key");
        match key {
            Some(key) if metadata.permissions().mode() & 0o077 != 0 => Err(format!(
                "{}: others can read this key: chmod 600 {}, or give a file of keys (api-keys-file)",
                config.place(key),
                path.display()
            )),
            _ => Ok(config),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// File and line of a setting.
    pub(super) fn place(&self, setting: &Setting) -> String {
        format!("{}:{}", self.path.display(), setting.line)
    }

    /// File and line of the value of an argument, which is named as clap names it (`--context
    /// <TOKENS>`).
    pub(super) fn place_of(&self, argument: &str, value: &str) -> Option<String> {
        let switch = argument.split_whitespace().next()?.strip_prefix("--")?;
        let mut settings = self.settings.iter().filter(|setting| setting.switch == switch);
        settings
            .find(|setting| setting.arguments().any(|given| given == value))
            .map(|setting| self.place(setting))
    }
}

impl Setting {
    /// Values as the command line takes them.
    pub(super) fn arguments(&self) -> impl Iterator<Item = String> {
        self.values.iter().map(|value| match &self.model {
            Some(model) => format!("{model}={value}"),
            None => value.clone(),
        })
    }
}

/// Reads the settings of a file's text.
fn settings(text: &str, path: &Path) -> Result<Vec<Setting>, String> {
    let place =
        |at: usize| format!("{}:{}", path.display(), 1 + text[..at.min(text.len())].matches('\n').count());
    let wrong = |error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        format!("{}: {}", place(at), error.message())
    };
    let table = DeTable::parse(text).map_err(wrong)?;
    let mut settings = Vec::new();
    let mut add = |switch: &str, model: Option<&str>, at: usize, value: &DeValue<'_>| {
        let (values, is_list) =
            values(value).map_err(|reason| format!("{}: {switch}: {reason}", place(at)))?;
        let (switch, model) = (switch.to_owned(), model.map(str::to_owned));
        settings.push(Setting { switch, model, values, is_list, line: 1 + text[..at].matches('\n').count() });
        Ok::<_, String>(())
    };
    for (key, value) in table.get_ref() {
        match value.get_ref() {
            DeValue::Table(models) if key.get_ref() == MODELS => {
                for (name, model) in models {
                    let DeValue::Table(model) = model.get_ref() else {
                        let at = place(name.span().start);
                        return Err(format!(
                            "{at}: {MODELS}.{}: expected a table of switches",
                            name.get_ref()
                        ));
                    };
                    for (key, value) in model {
                        add(switch_of(key), Some(name.get_ref()), key.span().start, value.get_ref())?;
                    }
                }
            }
            value => add(key.get_ref(), None, key.span().start, value)?,
        }
    }
    settings.sort_by_key(|setting| setting.line);
    Ok(settings)
}

/// The switch that a key of a model's table means.
fn switch_of<'a>(key: &'a Spanned<std::borrow::Cow<'_, str>>) -> &'a str {
    let key = &**key.get_ref();
    MODEL_KEYS.iter().find(|(name, _)| *name == key).map_or(key, |(_, switch)| switch)
}

/// The key of a model's table that means the switch.
pub(super) fn key_of(switch: &str) -> &str {
    MODEL_KEYS.iter().find(|(_, name)| *name == switch).map_or(switch, |(key, _)| key)
}

/// Values of a key as the switch takes them, and whether they are a list.
fn values(value: &DeValue<'_>) -> Result<(Vec<String>, bool), String> {
    match value {
        DeValue::Array(list) => {
            Ok((list.iter().map(|value| single(value.get_ref())).collect::<Result<_, _>>()?, true))
        }
        value => Ok((vec![single(value)?], false)),
    }
}

fn single(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .map(|number| number.to_string())
            .map_err(|error| error.to_string()),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        DeValue::Boolean(value) => Ok(value.to_string()),
        DeValue::Table(_) => {
            Err("a table is expected for [model.NAME] only (a name with a dot needs quotes)".to_owned())
        }
        DeValue::Datetime(_) | DeValue::Array(_) => {
            Err("expected a text, a number, true or false, or a list of them".to_owned())
        }
    }
}
