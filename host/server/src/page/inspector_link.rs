//! The link from the page to the inspector, which is on another address.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr as _;

use http::uri::Authority;

use crate::accept::access::is_loopback;
use crate::accept::origins::normal;

/// Where the inspector listens, and where the page does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InspectorLink {
    pub(crate) admin: SocketAddr,
    pub(crate) main: IpAddr,
}

impl InspectorLink {
    /// The inspector's URL for who calls this server by the name `host`, if it can be reached by
    /// that name. So nobody is told of an address that they didn't name.
    pub(crate) fn url(&self, host: &str) -> Option<String> {
        let authority = Authority::from_str(host).ok()?;
        let name = authority.host();
        let admin = self.admin.ip().to_canonical();
        let address = name.trim_matches(['[', ']']).parse::<IpAddr>().ok();
        let is_reached = match address {
            _ if admin.is_unspecified() => true,
            Some(address) => admin == address.to_canonical(),
            None if admin.is_loopback() => is_loopback(&normal(name)),
            None => admin == self.main.to_canonical(),
        };
        is_reached.then(|| format!("http://{name}:{}/inspector", self.admin.port()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inspector_is_named_as_its_reader_named_the_server() {
        for (admin, main, host, url) in [
            ("127.0.0.1:81", "127.0.0.1", "localhost:80", Some("http://localhost:81/inspector")),
            ("[::1]:81", "0.0.0.0", "[::1]:80", Some("http://[::1]:81/inspector")),
            ("127.0.0.1:81", "0.0.0.0", "llm.example", None),
            ("127.0.0.1:81", "::1", "[::1]:80", None),
            ("0.0.0.0:81", "0.0.0.0", "llm.example:80", Some("http://llm.example:81/inspector")),
            ("10.0.0.7:81", "10.0.0.7", "llm.example", Some("http://llm.example:81/inspector")),
            ("10.0.0.7:81", "0.0.0.0", "llm.example", None),
            ("127.0.0.1:81", "127.0.0.1", "", None),
        ] {
            let main = main.parse().expect("an address");
            let link = InspectorLink { admin: admin.parse().expect("an address"), main };
            assert_eq!(link.url(host).as_deref(), url, "{admin} {main} {host}");
        }
    }
}
