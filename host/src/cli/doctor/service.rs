//! What surrounds the models: addresses, keys, files that are kept, and tool servers.

use std::fs::OpenOptions;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use mcp::McpServers;
use system::private::open_secret;

use super::findings::{Findings, Level};
use super::machine::made;
use crate::cli::access::unprotected;
use crate::cli::listen::ListenAddress;
use crate::cli::serve_arguments::ServeArguments;
use crate::cli::store::StoreArguments;
use crate::cli::{data, seal};

/// Time in which a tool server must list its tools.
const TOOLS_TIME: Duration = Duration::from_secs(30);

pub(super) async fn examine(findings: &mut Findings, arguments: &ServeArguments) {
    let addresses =
        [("--listen", Some(&arguments.listen)), ("--admin-listen", arguments.admin_listen.as_ref())];
    let access = findings.value("keys", arguments.access.access(false));
    let keyed = access.as_ref().is_none_or(|access| !access.keys.is_empty());
    let mut bound = Vec::new();
    for (switch, address) in addresses {
        if let Some(address) = address {
            let address = port(findings, switch, address, keyed).await;
            if address.is_some_and(|address| bound.contains(&address)) {
                findings.fail("port", format!("{switch}: the other switch has the same address"));
            }
            bound.extend(address);
        }
    }
    if let Some(access) = access.filter(|_| keyed) {
        findings.ok("keys", format!("of {} owners", access.keys.owners()));
    }
    findings.value("records", arguments.record.check(arguments.admin_listen.is_some()));
    seal_key(findings, arguments.seal_key.as_deref());
    stored(findings, &arguments.store);
    findings.value("prompt", crate::cli::compaction::prompt(arguments.compaction_prompt.as_deref()));
    if let Some(servers) = findings.value("tools", arguments.mcp.servers(&arguments.mcp.limits())) {
        tools(findings, &servers).await;
    }
}

/// Binds an address, and gives it back; returns which one it was.
async fn port(
    findings: &mut Findings,
    switch: &str,
    address: &ListenAddress,
    keyed: bool,
) -> Option<SocketAddr> {
    let socket = findings.value("port", address.bind(switch).await)?;
    let address = socket.local_addr().ok()?;
    match unprotected(address) {
        Some(warning) if !keyed => findings.warn("port", warning),
        _ => findings.ok("port", format!("{address} is free")),
    }
    Some(address)
}

fn seal_key(findings: &mut Findings, given: Option<&Path>) {
    let loss = "encrypted reasoning is lost at a restart";
    match given.map(Path::to_owned).or_else(|| data::file(seal::FILE)) {
        Some(file) if file.as_os_str() == "none" => findings.warn("seal", format!("none: {loss}")),
        None => findings.warn("seal", format!("no data folder: {loss}; --seal-key names a file")),
        Some(file) => match open_secret(&file) {
            Ok(Some(_)) => findings.ok("seal", file.display().to_string()),
            Ok(None) => made(findings, "seal", &file, loss),
            Err(error) => findings.fail("seal", format!("{}: {error}", file.display())),
        },
    }
}

/// The store's file, which isn't made or changed here.
fn stored(findings: &mut Findings, arguments: &StoreArguments) {
    let loss = "what is stored is lost when the server ends";
    if let Some((url, opened)) = arguments.database() {
        return match opened {
            Ok(0) => findings.ok("store", format!("{url}: the tables will be made at the first start")),
            Ok(version) => findings.ok("store", format!("{url}, schema {version}")),
            Err(error) => findings.fail("store", format!("{error:#}")),
        };
    }
    let Some(file) = arguments.file() else {
        return findings.warn("store", format!("not in a file: {loss}"));
    };
    if !file.exists() {
        return made(findings, "store", &file, loss);
    }
    if store::is_in_use(&file) {
        let level = if arguments.is_named() { Level::Fail } else { Level::Warn };
        return findings.add(level, "store", format!("another process has {} open: {loss}", file.display()));
    }
    match OpenOptions::new().read(true).write(true).open(&file) {
        Ok(_) => findings.ok("store", file.display().to_string()),
        Err(error) => findings.fail("store", format!("{}: {error}", file.display())),
    }
}

/// Asks each tool server of the configuration for its tools, as an answer would.
async fn tools(findings: &mut Findings, servers: &McpServers) {
    for server in servers.all() {
        let label = server.label();
        match tokio::time::timeout(TOOLS_TIME, server.tools()).await {
            Ok(Ok(tools)) => findings.ok("tools", format!("{label}: {} tools", tools.len())),
            Ok(Err(error)) => findings.warn("tools", format!("{label}: {error}")),
            Err(_) => {
                let time = TOOLS_TIME.as_secs();
                findings.warn("tools", format!("{label}: no list of tools in {time} s"));
            }
        }
    }
}
