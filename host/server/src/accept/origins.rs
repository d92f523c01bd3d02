//! Host names and origins, as operators and browsers write them.

use std::net::Ipv6Addr;
use std::str::FromStr;

use http::uri::Authority;

/// A host name or IP address in lower case, without a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(pub(crate) String);

impl FromStr for HostName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare = text.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse::<Ipv6Addr>() {
            return Ok(Self(format!("[{address}]")));
        }
        let is_host = !text.contains(['[', ':'])
            && Authority::from_str(text).is_ok_and(|authority| authority.host() == text);
        if is_host { Ok(Self(normal(text))) } else { Err("expected a host name without scheme or port") }
    }
}

/// An origin in lower case (`https://app.example`), or any origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CorsOrigin {
    /// Pages of every origin.
    Any,
    /// Pages of this origin: `SCHEME://HOST[:PORT]`, or `null`.
    Exactly(String),
}

impl FromStr for CorsOrigin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_origin = || {
            let (scheme, authority) = text.split_once("://")?;
            let scheme = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
            (scheme && Authority::from_str(authority).is_ok()).then_some(())
        };
        match text {
            "*" => Ok(Self::Any),
            _ if text == "null" || is_origin().is_some() => Ok(Self::Exactly(text.to_ascii_lowercase())),
            _ => Err("expected an origin such as https://app.example, without a path, or *"),
        }
    }
}

/// Lower case, without the dot that ends a fully qualified name.
pub(crate) fn normal(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}
