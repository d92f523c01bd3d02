//! SIGHUP: the command line, its file and the files of keys are read again, and what can change in a
//! running server is replaced, as a whole or not at all. Parsers whose files changed come after that.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use model::{EngineChoice, Model, Models};
use remote::EngineList;
use server::accept::{ApiKey, Identity, Keys, Named, Tls};
use tokio::signal::unix::Signal;

use super::config::{ConfigError, Parsed};
use super::log::set_level;
use super::serve_arguments::ServeArguments;
use super::{Command, one_line, parse, reason};

/// Level of the log from which on lines are written, where neither a switch nor `RUST_LOG` says it.
pub(super) const LEAST_LEVEL: &str = "info";
/// Switches whose values can change while the server runs.
const CHANGEABLE: [&str; 8] =
    ["api_key", "api_keys_file", "allow_host", "cors_origin", "log_level", "engine", "tls_cert", "tls_key"];

/// The arguments of this process, to read them and their file again.
pub(super) struct Reload {
    arguments: Vec<OsString>,
    /// Values that the server runs with, by switch.
    settings: Settings,
    file: Option<PathBuf>,
}

type Settings = BTreeMap<String, Vec<OsString>>;

/// What can change in a running server.
pub(super) struct Running {
    pub(super) models: Models,
    pub(super) keys: Keys,
    pub(super) named: Named,
    pub(super) tls: Option<Tls>,
}

/// New values, which were checked.
struct Change<'a> {
    keys: Vec<ApiKey>,
    engines: Vec<(&'a Model, EngineList)>,
    tls: Option<(&'a Tls, Identity)>,
    arguments: ServeArguments,
}

impl Reload {
    pub(super) fn new(arguments: Vec<OsString>, parsed: &Parsed) -> Self {
        Self { arguments, settings: settings(parsed), file: parsed.file().map(Path::to_owned) }
    }

    /// Whether a configuration file is read.
    pub(super) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Reads everything again; returns the arguments, and the switches whose values are new.
    fn read(&mut self) -> anyhow::Result<(ServeArguments, Vec<String>)> {
        if let Some(file) = self.file.as_ref().filter(|file| file.exists() && !file.is_file()) {
            // Whoever wrote into a pipe is gone, and opening it would wait for the next one.
            bail!("--config {}: it isn't a plain file, and so was read once", file.display());
        }
        let (parsed, line) = match parse(&self.arguments) {
            Ok(parsed) => parsed,
            Err(ConfigError::File(error)) => bail!(error),
            Err(ConfigError::Usage { error, place }) => {
                bail!(reason(&error, place.as_deref()))
            }
        };
        let Command::Serve(serve) = line.command else { bail!("no server") };
        let new = settings(&parsed);
        let changed = new
            .keys()
            .chain(self.settings.keys())
            .filter(|switch| new.get(*switch) != self.settings.get(*switch));
        let mut changed: Vec<String> = changed.cloned().collect();
        changed.sort_unstable();
        changed.dedup();
        Ok((*serve, changed))
    }
}

impl Running {
    /// Reloads at each signal; never ready.
    pub(super) async fn reload_on(&self, mut hangup: Signal, mut reload: Reload) {
        while hangup.recv().await.is_some() {
            tokio::task::block_in_place(|| self.reload(&mut reload));
            self.models.reload_parsers("signal").await;
        }
    }

    fn reload(&self, reload: &mut Reload) {
        let read = reload.read();
        let checked = read.and_then(|(arguments, changed)| Ok((self.check(arguments)?, changed)));
        match checked {
            Ok((change, changed)) => {
                self.apply(change);
                tracing::info!("settings reloaded");
                let others = changed.iter().filter(|switch| !CHANGEABLE.contains(&switch.as_str()));
                for switch in others {
                    tracing::warn!("--{} has changed: this needs a restart", switch.replace('_', "-"));
                }
            }
            Err(error) => {
                let error = one_line(&error);
                tracing::error!(error, "settings not reloaded: all stay as they were");
            }
        }
    }

    /// Checks everything that is new.
    fn check(&self, arguments: ServeArguments) -> anyhow::Result<Change<'_>> {
        let keys = arguments.access.keys()?;
        Keys::check(&keys).context("--api-key")?;
        if self.keys.is_empty() != keys.is_empty() {
            bail!(
                "--api-key: a server that requires no key, and one that does, need a restart to become the other"
            );
        }
        let (first, others) = arguments.models.models()?;
        let mut engines = Vec::new();
        for options in std::iter::once(first).chain(others) {
            let EngineChoice::Remote(list) = options.engine else { continue };
            // A model that isn't served yet needs a restart.
            let name = options.served_names.first();
            let Some(model) = name.and_then(|name| self.models.find(name)) else { continue };
            let Some(remote) = model.remote() else { continue };
            remote.check(&list).map_err(|reason| anyhow!("--engine: {reason}"))?;
            engines.push((model, list));
        }
        let tls = match (&self.tls, arguments.tls.identity()?) {
            (None, None) => None,
            (Some(tls), Some(identity)) => Some((tls, identity)),
            _ => bail!("--tls-cert: a server with TLS, and one without, need a restart to become the other"),
        };
        Ok(Change { keys, engines, tls, arguments })
    }

    fn apply(&self, change: Change<'_>) {
        let Change { keys, engines, tls, arguments } = change;
        let (hosts, origins) = arguments.access.named();
        // It was checked that owners share no key.
        let _ = self.keys.replace(keys);
        self.named.replace(hosts, origins);
        for (model, list) in engines {
            if let Some(remote) = model.remote().filter(|remote| remote.list() != list) {
                remote.replace(list);
            }
        }
        if let Some((tls, identity)) = tls {
            tls.replace(identity);
        }
        set_level(arguments.log_level, LEAST_LEVEL);
    }
}

/// Values of all switches of the command.
fn settings(parsed: &Parsed) -> Settings {
    let Some((_, matches)) = parsed.matches.subcommand() else { return Settings::new() };
    let values = |id: &clap::Id| {
        let raw = matches.get_raw(id.as_str())?;
        Some((id.to_string(), raw.map(ToOwned::to_owned).collect()))
    };
    matches.ids().filter_map(values).collect()
}
