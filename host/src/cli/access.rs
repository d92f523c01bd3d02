//! Switches of `host serve` for access to the server, and the warning if anyone can access it.

use std::net::SocketAddr;

use host::http::{Access, CorsOrigin, HostName, Keys};

#[derive(clap::Args)]
pub(super) struct AccessArguments {
    /// Key that clients must send as `Authorization: Bearer KEY` or `x-api-key: KEY` (repeatable).
    #[arg(long, env = "SLUICE_API_KEY", hide_env_values = true, value_delimiter = ',', value_parser = key)]
    api_key: Vec<String>,
    /// Host name that requests may be addressed to, besides loopback names and the listen address (repeatable). Requests to other names get
    /// 403 on a loopback address without a key, and on every address once this is given.
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<HostName>,
    /// Origin of web pages that may call the server from a browser (repeatable), or `*` for all [default: none].
    #[arg(long, value_name = "ORIGIN|*")]
    cors_origin: Vec<CorsOrigin>,
}

impl AccessArguments {
    pub(super) fn access(&self) -> Access {
        Access {
            keys: Keys::new(&self.api_key),
            hosts: self.allow_host.clone(),
            cors_origins: self.cors_origin.clone(),
        }
    }
}

/// Parses a key; white space around it is removed. An empty key is refused, since it would admit every client that sends an empty header.
fn key(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err(
            "a key is empty: give each key at least one character, or leave --api-key and SLUICE_API_KEY out",
        ),
        key => Ok(key.to_owned()),
    }
}

/// Warnings, for the log and the summary, of addresses that others can reach although no key is required.
pub(super) fn warn_of_public(addresses: &[(&str, SocketAddr)]) -> Vec<String> {
    let public = addresses.iter().filter(|(_, address)| !address.ip().to_canonical().is_loopback());
    let warn = |(_, address): &(&str, SocketAddr)| {
        tracing::warn!(%address, "no API key: everybody who can reach this address can use the server (set --api-key)");
        format!("no API key: everybody who can reach {address} can use this server; set --api-key")
    };
    public.map(warn).collect()
}
