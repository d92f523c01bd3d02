//! Switches of `host serve` for access to the server, and the warning if anyone can access it.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use server::accept::{Access, ApiKey, CorsOrigin, HostName, Keys, Named, read_keys};

#[derive(clap::Args)]
pub(super) struct AccessArguments {
    /// Key that clients must send as `Authorization: Bearer KEY` or `x-api-key: KEY` (repeatable),
    /// and the name of its owner: keys of one name share budgets and data. A key without a name has
    /// one that follows from the key.
    #[arg(long, value_name = "[NAME=]KEY", env = "SLUICE_API_KEY", hide_env_values = true, value_delimiter = ',', value_parser = key)]
    api_key: Vec<String>,
    /// File of further keys, a line `NAME=KEY` each, that only its user may read (chmod 600);
    /// SIGHUP reads it again.
    #[arg(long, value_name = "FILE")]
    api_keys_file: Option<PathBuf>,
    /// Host name that requests may be addressed to, besides loopback names and the listen address
    /// (repeatable). Requests to other names get 403 on a loopback address without a key, and on
    /// every address once this is given.
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<HostName>,
    /// Origin of web pages that may call the server from a browser (repeatable), or `*` for all
    /// [default: none].
    #[arg(long, value_name = "ORIGIN|*")]
    cors_origin: Vec<CorsOrigin>,
    /// Answer clients that ask for a WebSocket with 426, so that they use HTTP.
    #[arg(long)]
    no_websocket: bool,
    /// Serve no page at `/`: browsers get the JSON there that programs get.
    #[arg(long)]
    no_page: bool,
    /// Answer `/metrics` without a key, on both addresses: an inference gateway that chooses among
    /// servers by their load sends none. Whoever reaches an address reads the names of models,
    /// engines and tool servers there, and how much is asked.
    #[arg(long)]
    public_metrics: bool,
}

impl AccessArguments {
    /// Who may use the server. `may_change` says that keys may come with a signal.
    pub(super) fn access(&self, may_change: bool) -> anyhow::Result<Access> {
        let keys = Keys::new(self.keys()?).context("--api-key")?;
        let may_change = self.api_keys_file.is_some() || (may_change && !keys.is_empty());
        Ok(Access {
            keys: if may_change { keys.replaceable() } else { keys },
            named: Named::new(self.allow_host.clone(), self.cors_origin.clone()),
            no_web_socket: self.no_websocket,
            no_page: self.no_page,
            public_metrics: self.public_metrics,
        })
    }

    /// The hosts and origins.
    pub(super) fn named(&self) -> (Vec<HostName>, Vec<CorsOrigin>) {
        (self.allow_host.clone(), self.cors_origin.clone())
    }

    /// Keys of the switch and of the file. Errors give a key's number among those of the switch,
    /// and never show one.
    pub(super) fn keys(&self) -> anyhow::Result<Vec<ApiKey>> {
        let key = |(number, text): (usize, &String)| {
            text.parse::<ApiKey>().with_context(|| format!("--api-key: key {number}"))
        };
        let mut keys = (1..).zip(&self.api_key).map(key).collect::<anyhow::Result<Vec<_>>>()?;
        if let Some(file) = &self.api_keys_file {
            keys.extend(read_keys(file).context("--api-keys-file")?);
        }
        Ok(keys)
    }
}

/// Parses a key; white space around it is removed. An empty key is refused, since it would admit
/// every client that sends an empty header.
fn key(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err(
            "a key is empty: give each key at least one character, or leave --api-key and SLUICE_API_KEY out",
        ),
        key => Ok(key.to_owned()),
    }
}

/// Warnings, for the log and the summary, of addresses that others can reach although no key is
/// required.
pub(super) fn warn_of_public(addresses: &[(&str, SocketAddr)]) -> Vec<String> {
    let warn = |(_, address): &(&str, SocketAddr)| {
        let warning = unprotected(*address)?;
        tracing::warn!(%address, "no API key: everybody who can reach this address can use the server, and read what others store if they know its id (set --api-key)");
        Some(warning)
    };
    addresses.iter().filter_map(warn).collect()
}

/// The warning of an address that others can reach, for a server that requires no key.
pub(super) fn unprotected(address: SocketAddr) -> Option<String> {
    let is_public = !address.ip().to_canonical().is_loopback();
    is_public
        .then(|| format!("no API key: everybody who can reach {address} can use this server, and read what others store if they know its id; set --api-key"))
}
