//! URLs of tool servers that requests bring. They are refused unless the operator allows them, and
//! then restricted to public addresses by HTTPS by default, so that a request can't reach what only
//! this machine can reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// URLs that requests may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequestUrls {
    /// No URLs.
    #[default]
    None,
    /// HTTPS URLs of public addresses.
    Public,
    /// Any URL. For networks in which every client may reach everything that the server can reach.
    Any,
}

impl FromStr for RequestUrls {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "public" => Ok(Self::Public),
            "any" => Ok(Self::Any),
            _ => Err("expected `none`, `public` or `any`".to_owned()),
        }
    }
}

/// Why a request's URL is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// The operator allows no URLs.
    #[error("this server does not connect to servers that requests name: use the label of a configured one")]
    Forbidden,
    /// The text is no URL of an allowed scheme, or holds a user or password.
    #[error("expected an {0} URL without user and password")]
    Malformed(&'static str),
    /// The address isn't public.
    #[error("the address is not a public one")]
    Private,
}

impl RequestUrls {
    /// Checks that `url` may be connected to. Host names are checked when they are resolved.
    pub fn check(self, url: &str) -> Result<(), UrlError> {
        let schemes: (&[&str], _) = match self {
            Self::None => return Err(UrlError::Forbidden),
            Self::Public => (&["https"], "https"),
            Self::Any => (&["http", "https"], "http or https"),
        };
        let parsed = Url::parse(url).map_err(|_| UrlError::Malformed(schemes.1))?;
        let plain = parsed.username().is_empty() && parsed.password().is_none();
        let host = parsed.host_str().filter(|_| plain && schemes.0.contains(&parsed.scheme()));
        let host = host.ok_or(UrlError::Malformed(schemes.1))?;
        let literal = host.trim_matches(['[', ']']).parse::<IpAddr>();
        match literal {
            Ok(address) if self == Self::Public && !is_public(address) => Err(UrlError::Private),
            _ => Ok(()),
        }
    }
}

/// Resolves host names to public addresses only. It runs at every connect, so a name can't change
/// its address after the check.
pub(super) struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|address| is_public(address.ip())).collect();
            if public.is_empty() {
                return Err(UrlError::Private.into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

/// Whether an address is reachable on the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped().or_else(|| translated(address)) {
            Some(inner) => is_public_v4(inner),
            None => is_public_v6(address),
        },
    }
}

/// IPv4 address inside a NAT64 (`64:ff9b::/96`) or 6to4 (`2002::/16`) address.
fn translated(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let pair = match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => (high, low),
        _ => return None,
    };
    Some(Ipv4Addr::from_bits(u32::from(pair.0) << 16 | u32::from(pair.1)))
}

/// Follows IANA's registry of special-purpose addresses.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b));
    !special
}

/// Public addresses are those of global unicast (`2000::/3`) outside its special ranges.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let global = a & 0xe000 == 0x2000;
    let special = (a == 0x2001 && (b < 0x200 || b == 0xdb8)) || (a == 0x3fff && b < 0x1000);
    global && !special
}

#[cfg(test)]
mod tests {
    use super::{RequestUrls, UrlError, is_public};

    #[test]
    fn only_the_open_internet_is_public() {
        for address in ["1.1.1.1", "8.8.8.8", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "172.16.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "ff02::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_request_names_public_https_only() {
        let public = |url| RequestUrls::Public.check(url);
        assert_eq!(public("https://example.org/mcp"), Ok(()));
        assert_eq!(public("http://example.org/mcp"), Err(UrlError::Malformed("https")));
        assert_eq!(public("https://u:p@example.org/"), Err(UrlError::Malformed("https")));
        assert_eq!(public("https://127.0.0.1/"), Err(UrlError::Private));
        // Spellings that the URL standard reads as 127.0.0.1.
        for url in ["https://0x7f.1/", "https://2130706433/", "https://[::1]/", "https://[::ffff:127.0.0.1]/"]
        {
            assert_eq!(public(url), Err(UrlError::Private), "{url}");
        }
        assert_eq!(RequestUrls::None.check("https://example.org"), Err(UrlError::Forbidden));
        assert_eq!(RequestUrls::Any.check("http://127.0.0.1:1/mcp"), Ok(()));
    }
}
