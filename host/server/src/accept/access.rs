//! Who may use the server: API keys, host names in `Host`, web pages in `Origin`.
//!
//! A web page can reach a server on the loopback address of the machine that shows the page: by a
//! request to another origin, or by making its own name resolve to that address (DNS rebinding). If
//! no key protects the server, `Host` and `Origin` are checked instead.

use std::net::IpAddr;
use std::str::FromStr as _;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::uri::Authority;
use http::{HeaderMap, Uri, header};

use crate::accept::keys::Keys;
use crate::accept::named::{Named, NamedLists};
use crate::accept::origins::{CorsOrigin, HostName, normal};
use crate::http::answer::refuse;
use api::error::ApiError;

/// The operator's settings for access.
#[derive(Clone, Default)]
pub struct Access {
    /// Keys that clients may use; if there are none, no key is required.
    pub keys: Keys,
    /// Hosts and origins that are allowed besides loopback names and the listen address.
    pub named: Named,
    /// Whether clients that ask for a WebSocket are sent to HTTP.
    pub no_web_socket: bool,
    /// Whether `/` is JSON for browsers, too.
    pub no_page: bool,
    /// Whether `/metrics` needs no key.
    pub public_metrics: bool,
}

/// Address on which the listener of a request listens.
#[derive(Clone, Copy)]
pub(crate) struct ListenAddress(pub(crate) IpAddr);

impl Access {
    /// Checks a request that lists what its owner stored. Without a key everybody who reaches the
    /// listener is one owner: ids can't be guessed, but a list would tell them. A loopback address is
    /// reached from its own machine.
    pub(crate) fn check_listing(&self, ListenAddress(listen): ListenAddress) -> Result<(), ApiError> {
        let is_shared = self.keys.is_empty() && !listen.to_canonical().is_loopback();
        if is_shared { Err(ApiError::listing_not_allowed()) } else { Ok(()) }
    }

    /// Checks the origin of a page that asks for a WebSocket: the server's own pages and named origins
    /// may, as they may read answers over HTTP. Browsers apply no CORS to sockets, so without this any
    /// page could use the server. Where a key is required, it protects: pages have no way to send one.
    pub(crate) fn check_page(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let text =
            |name| headers.get(name).map(|value: &http::HeaderValue| value.to_str().unwrap_or_default());
        let Some(origin) = text(header::ORIGIN).filter(|_| self.keys.is_empty()) else { return Ok(()) };
        let named = self.named.lists();
        let allowed =
            is_named(&named.origins, origin) || is_own_page(origin, text(header::HOST), &named.hosts);
        if allowed { Ok(()) } else { Err(ApiError::origin_not_allowed(origin)) }
    }
}

/// Check of `Host` and `Origin` for one listener.
#[derive(Clone)]
pub(crate) struct HostCheck {
    named: Named,
    is_keyed: bool,
    listen: IpAddr,
}

impl HostCheck {
    /// The check of a listener on `listen`.
    pub(crate) fn new(access: &Access, listen: IpAddr) -> Self {
        Self { named: access.named.clone(), is_keyed: !access.keys.is_empty(), listen }
    }

    /// Checks a request. Everything is allowed if a key is required, or if the address isn't
    /// loopback and so its names aren't known; but not if the operator named hosts. Files of a page
    /// hold nothing of the server, so that their origin doesn't matter.
    fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
        let lists = self.named.lists();
        if lists.hosts.is_empty() && (self.is_keyed || !self.listen.is_loopback()) {
            return Ok(());
        }
        let named = headers.get_all(header::HOST).iter().map(|value| value.to_str().unwrap_or_default());
        let named = named.chain(uri.authority().map(Authority::as_str));
        for authority in named {
            let host = Authority::from_str(authority);
            if !host.is_ok_and(|authority| self.allows(&lists, authority.host())) {
                return Err(ApiError::host_not_allowed(authority));
            }
        }
        if is_page_file(uri.path()) {
            return Ok(());
        }
        match headers.get(header::ORIGIN).map(|value| value.to_str().unwrap_or_default()) {
            Some(origin) if !self.allows_origin(&lists, origin) => Err(ApiError::origin_not_allowed(origin)),
            _ => Ok(()),
        }
    }

    fn allows(&self, lists: &NamedLists, host: &str) -> bool {
        let host = normal(host);
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
        let is_own = |address: IpAddr| {
            let address = address.to_canonical();
            // A name can be made to resolve to any address, but an address in `Host` is the one
            // that the client connected to.
            address == self.listen || self.listen.is_unspecified()
        };
        is_loopback(&host)
            || address.is_some_and(is_own)
            || lists.hosts.iter().any(|allowed| allowed.0 == host)
    }

    fn allows_origin(&self, lists: &NamedLists, origin: &str) -> bool {
        is_named(&lists.origins, origin) || origin_host(origin).is_some_and(|host| self.allows(lists, &host))
    }
}

/// Whether the path is that of a page in the binary or of one of its files.
fn is_page_file(path: &str) -> bool {
    let is_below =
        |folder| path.strip_prefix(folder).is_some_and(|rest: &str| rest.is_empty() || rest.starts_with('/'));
    ["/inspector", "/page"].into_iter().any(is_below)
}

/// Whether the operator's list has the origin.
fn is_named(origins: &[CorsOrigin], origin: &str) -> bool {
    origins.iter().any(|allowed| match allowed {
        CorsOrigin::Any => true,
        CorsOrigin::Exactly(allowed) => allowed.eq_ignore_ascii_case(origin),
    })
}

/// The host of an origin.
fn origin_host(origin: &str) -> Option<String> {
    let authority = origin.split_once("://").and_then(|(_, rest)| Authority::from_str(rest).ok())?;
    Some(normal(authority.host()))
}

/// Whether a host, as `normal` has it, is a loopback name or address.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost"
        || host.ends_with(".localhost")
        || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Middleware: 403 for a host or an origin that isn't allowed.
pub(crate) async fn check_host(State(check): State<HostCheck>, request: Request, next: Next) -> Response {
    match check.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) => refuse(&error),
    }
}

/// Middleware: 403 for a request of a web page of another origin than the server's own, or than
/// that of a host of `--allow-host`.
pub(crate) async fn refuse_foreign_pages(
    State(access): State<Access>,
    request: Request,
    next: Next,
) -> Response {
    let hosts = access.named.lists().hosts.clone();
    let own = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
    let origins = request.headers().get_all(header::ORIGIN).iter();
    let mut origins = origins.map(|value| value.to_str().unwrap_or_default());
    match origins.find(|origin| !is_own_page(origin, own, &hosts)) {
        Some(origin) => refuse(&ApiError::origin_not_allowed(origin)),
        None => next.run(request).await,
    }
}

/// Whether a page of `origin` comes from the server that it calls by the name `own`, or from one of
/// `hosts`.
fn is_own_page(origin: &str, own: Option<&str>, hosts: &[HostName]) -> bool {
    let Some((_, authority)) = origin.split_once("://") else { return false };
    let host = Authority::from_str(authority).map(|authority| normal(authority.host()));
    own.is_some_and(|own| own.eq_ignore_ascii_case(authority))
        || host.is_ok_and(|host| hosts.iter().any(|allowed| allowed.0 == host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(access: &Access, listen: &str, host: &str, origin: Option<&str>) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().expect("a header"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().expect("a header"));
        }
        let check = HostCheck::new(access, listen.parse().expect("an address"));
        check.check(&Uri::from_static("/v1/models"), &headers).err()?.code
    }

    fn access(hosts: &[&str], origins: &[&str]) -> Access {
        let hosts = hosts.iter().map(|host| host.parse().expect("a host")).collect();
        let origins = origins.iter().map(|origin| origin.parse().expect("an origin")).collect();
        Access { named: Named::new(hosts, origins), ..Access::default() }
    }

    #[test]
    fn loopback_names_are_allowed_with_any_port_only() {
        let access = Access::default();
        for host in [
            "localhost",
            "LOCALHOST:80",
            "localhost.",
            "app.localhost:1",
            "127.0.0.1:8000",
            "127.9.9.9",
            "[::1]:8",
        ] {
            assert_eq!(check(&access, "127.0.0.1", host, None), None, "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "notlocalhost",
            "10.0.0.1",
            "127.0.0.1.evil.example",
            "[::2]",
        ] {
            assert_eq!(check(&access, "127.0.0.1", host, None), Some("host_not_allowed"), "{host}");
        }
    }

    #[test]
    fn pages_of_loopback_and_allowed_origins_may_ask() {
        let named = access(&["proxy.example"], &["https://app.example:8443", "null"]);
        for origin in [
            "http://localhost:3000",
            "tauri://localhost",
            "https://APP.example:8443",
            "null",
            "https://proxy.example",
        ] {
            assert_eq!(check(&named, "127.0.0.1", "localhost", Some(origin)), None, "{origin}");
        }
        for origin in ["https://evil.example", "https://app.example", "", "localhost", "vscode-webview://x"] {
            assert_eq!(
                check(&named, "127.0.0.1", "localhost", Some(origin)),
                Some("origin_not_allowed"),
                "{origin}"
            );
        }
        assert_eq!(
            check(&Access::default(), "127.0.0.1", "localhost", Some("null")),
            Some("origin_not_allowed")
        );
        let any = access(&[], &["*"]);
        assert_eq!(check(&any, "127.0.0.1", "localhost", Some("https://evil.example")), None);
        assert_eq!(check(&any, "127.0.0.1", "evil.example", None), Some("host_not_allowed"));
    }

    #[test]
    fn host_check_needs_keyless_loopback_or_allowed_hosts() {
        let keyed = Access {
            keys: Keys::new(vec!["secret".parse().expect("a key")]).expect("keys"),
            ..Access::default()
        };
        assert_eq!(check(&keyed, "127.0.0.1", "evil.example", Some("https://evil.example")), None);
        assert_eq!(check(&Access::default(), "0.0.0.0", "evil.example", None), None);
        let named = access(&["Api.Example"], &[]);
        for (listen, host, refused) in [
            ("0.0.0.0", "api.example:8000", false),
            ("0.0.0.0", "192.168.1.7:8000", false),
            ("0.0.0.0", "evil.example", true),
            ("192.168.1.7", "192.168.1.7", false),
            ("192.168.1.7", "192.168.1.8", true),
        ] {
            assert_eq!(check(&named, listen, host, None).is_some(), refused, "{listen} {host}");
        }
    }

    #[test]
    fn the_authority_of_an_absolute_target_counts_too() {
        let check = HostCheck::new(&Access::default(), [127, 0, 0, 1].into());
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, "localhost".parse().expect("a header"));
        let refused = check.check(&Uri::from_static("http://evil.example/v1/models"), &headers);
        assert_eq!(refused.expect_err("foreign").status, 403);
    }

    #[test]
    fn names_and_origins_are_read_strictly() {
        for wrong in ["", "http://a.example", "a.example:80", "a b", "a/b"] {
            assert!(wrong.parse::<HostName>().is_err(), "{wrong:?}");
        }
        assert_eq!("::1".parse(), Ok(HostName("[::1]".to_owned())));
        for wrong in ["", "app.example", "https://app.example/", "https://app.example/path", "https://"] {
            assert!(wrong.parse::<CorsOrigin>().is_err(), "{wrong:?}");
        }
    }
}
