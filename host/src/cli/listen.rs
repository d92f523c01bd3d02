//! Addresses to listen on, as an operator types them: a port, or a host and a port.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use anyhow::Context;
use tokio::net::{TcpListener, TcpSocket, lookup_host};

/// Connections that the kernel holds until they are accepted, as for tokio's own listeners.
const BACKLOG: u32 = 1024;

/// Address as typed: `8000` or `:8000` (loopback), `127.0.0.1:8000`, `[::1]:8000`,
/// `localhost:8000`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListenAddress {
    /// An IP address, or a name to look up.
    host: Result<IpAddr, String>,
    port: u16,
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
        let port = port.parse().map_err(|_| format!("{port:?} is no port (0 to 65535; {FORMS})"))?;
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = match bracketed {
            Some(inner) => Ok(IpAddr::V6(inner.parse().map_err(|_| format!("no IPv6 address; {FORMS}"))?)),
            None if host.is_empty() => Ok(Ipv4Addr::LOCALHOST.into()),
            None if host.contains(':') => return Err(format!("an IPv6 address needs brackets; {FORMS}")),
            None => host.parse().map_err(|_| host.to_owned()),
        };
        Ok(Self { host, port })
    }
}

const FORMS: &str = "expected PORT, HOST:PORT or [IPV6]:PORT";

impl ListenAddress {
    /// Makes a socket that is bound to the first available address; it doesn't listen yet. Errors
    /// name `switch`.
    pub(super) async fn bind(&self, switch: &str) -> anyhow::Result<TcpSocket> {
        let mut addresses = Vec::new();
        match &self.host {
            Ok(host) => addresses.push(SocketAddr::new(*host, self.port)),
            Err(name) => {
                let found = lookup_host((name.as_str(), self.port)).await;
                addresses.extend(found.with_context(|| format!("{switch}: no address of {name} is known"))?);
            }
        }
        bind_first(&addresses).map_err(|failed| anyhow::anyhow!("{switch}: {failed}"))
    }
}

/// Makes a socket that is bound to the first available one of `addresses`; else the reasons why
/// none is available.
fn bind_first(addresses: &[SocketAddr]) -> Result<TcpSocket, String> {
    let mut failed = Vec::new();
    for address in addresses {
        match bind(*address) {
            Ok(socket) => return Ok(socket),
            Err(error) => failed.push(refusal(*address, &error)),
        }
    }
    Err(failed.join("; "))
}

fn bind(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restarted server can bind while old connections are in TIME_WAIT; an address on which
    // another process listens stays refused.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Starts to listen; an error if another process has begun to listen there since the socket was
/// bound.
pub(super) fn listen(socket: TcpSocket) -> anyhow::Result<TcpListener> {
    let address = socket.local_addr()?;
    socket.listen(BACKLOG).map_err(|error| anyhow::Error::msg(refusal(address, &error)))
}

/// Error message for an address that isn't available, with advice.
fn refusal(address: SocketAddr, error: &std::io::Error) -> String {
    let advice = match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "in use: stop what listens there, or name another port (0: a free one)"
        }
        std::io::ErrorKind::AddrNotAvailable => "no address of this machine",
        std::io::ErrorKind::PermissionDenied => "not permitted: ports below 1024 need a privilege",
        _ => return format!("can't listen on {address}: {error}"),
    };
    format!("can't listen on {address}: {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_hosts_and_addresses_are_read() {
        let read = |text: &str| text.parse::<ListenAddress>().unwrap();
        let ip = |ip: &str, port| ListenAddress { host: Ok(ip.parse().unwrap()), port };
        assert_eq!(read("8000"), ip("127.0.0.1", 8000));
        assert_eq!(read(":8000"), ip("127.0.0.1", 8000));
        assert_eq!(read("0.0.0.0:80"), ip("0.0.0.0", 80));
        assert_eq!(read("[::1]:0"), ip("::1", 0));
        assert_eq!(read("localhost:8000"), ListenAddress { host: Err("localhost".to_owned()), port: 8000 });
    }

    #[test]
    fn the_first_address_that_can_be_had_is_taken() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = listener.local_addr().unwrap();
        let foreign: SocketAddr = "192.0.2.1:0".parse().unwrap();
        let free: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let bound = bind_first(&[taken, foreign, free]).unwrap().local_addr().unwrap();
        assert!(bound.ip().is_loopback() && bound != taken, "{bound}");
        let error = bind_first(&[taken, foreign]).unwrap_err();
        assert!(error.contains(&format!("{taken}: in use")), "{error}");
        assert!(error.contains("; can't listen on 192.0.2.1:0: no address of this machine"), "{error}");
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_forms() {
        for (text, part) in [
            ("", "\"\" is no port (0 to 65535;"),
            ("localhost", "\"localhost\" is no port"),
            ("70000", "\"70000\" is no port"),
            ("localhost:-1", "\"-1\" is no port"),
            ("::1:8000", "needs brackets"),
            ("[::g]:8000", "no IPv6 address"),
        ] {
            let error = text.parse::<ListenAddress>().unwrap_err();
            assert!(error.contains(part) && error.contains(FORMS), "{text}: {error}");
        }
    }
}
