//! Refuses requests that HTTP/1.1 forbids and hyper accepts: without a host, with two hosts, or with a path in the host. (If both lengths
//! are given, hyper follows `Transfer-Encoding` and removes `Content-Length`, RFC 9112, 6.3.)

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, Version, header};

use super::answer::refuse;
use crate::api::error::ApiError;

/// Middleware: 400 for a malformed request, before any other handler reads it.
pub(super) async fn refuse_malformed(request: Request, next: Next) -> Response {
    match check(request.version(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(message) => refuse(&ApiError::invalid(None, message)),
    }
}

fn check(version: Version, headers: &HeaderMap) -> Result<(), &'static str> {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(_), Some(_)) => Err("The request has more than one Host header."),
        (Some(host), None) if !host.as_bytes().iter().all(|byte| is_host_byte(*byte)) => {
            Err("The request's Host header is not a host.")
        }
        (None, _) if version == Version::HTTP_11 => Err("The request has no Host header."),
        _ => Ok(()),
    }
}

/// Whether the byte may be part of a host and port, IPv6 addresses included (RFC 3986, 3.2.2).
fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:[]%".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, http::HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn ordinary_hosts_pass() {
        for host in ["localhost", "localhost:8000", "[::1]:8000", "a.example"] {
            assert_eq!(check(Version::HTTP_11, &headers(&[("host", host)])), Ok(()));
        }
        assert_eq!(check(Version::HTTP_10, &headers(&[])), Ok(()));
    }

    #[test]
    fn requests_without_one_plain_host_are_refused() {
        assert!(check(Version::HTTP_11, &headers(&[])).is_err());
        assert!(check(Version::HTTP_11, &headers(&[("host", "a"), ("host", "b")])).is_err());
        assert!(check(Version::HTTP_11, &headers(&[("host", "a/v1?x")])).is_err());
    }
}
