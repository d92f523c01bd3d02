//! Refuses requests that HTTP/1.1 forbids and hyper accepts: without a host, with two hosts, with a
//! path in the host, or with a transfer coding other than one `chunked`, which hyper would leave in
//! the body. (If both lengths are given, hyper follows `Transfer-Encoding` and removes
//! `Content-Length`, RFC 9112, 6.3.)

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Version, header};

use crate::accept::app::App;
use crate::accept::body::discard_unasked;
use crate::http::answer::refuse;
use api::error::ApiError;

/// Middleware: 400 for a malformed request, 501 for an unknown transfer coding, before any other
/// handler reads it.
pub(crate) async fn refuse_malformed(State(app): State<App>, request: Request, next: Next) -> Response {
    let host = check_host(request.version(), request.headers());
    let host = host.map_err(|message| ApiError::invalid(None, message));
    match host.and_then(|()| check_transfer_coding(request.headers())) {
        Ok(()) => next.run(request).await,
        Err(error) => {
            discard_unasked(request, &app.limits.http).await;
            let mut response = refuse(&error);
            // Whoever sent it may disagree about where it ends.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            response
        }
    }
}

/// Checks that a body has no transfer coding but one `chunked` (RFC 9112, 6.1 and 7).
fn check_transfer_coding(headers: &HeaderMap) -> Result<(), ApiError> {
    let lines = headers.get_all(header::TRANSFER_ENCODING).iter();
    let codings = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    let codings = codings.map(<[u8]>::trim_ascii).filter(|coding| !coding.is_empty());
    let mut chunked = 0;
    for coding in codings {
        if !coding.eq_ignore_ascii_case(b"chunked") {
            let message = "The request's Transfer-Encoding is not supported: send the body as it is or chunked; Content-Encoding may be gzip or zstd.";
            return Err(ApiError { status: 501, ..ApiError::invalid(None, message) });
        }
        chunked += 1;
    }
    if chunked > 1 {
        return Err(ApiError::invalid(None, "The request's Transfer-Encoding names chunked more than once."));
    }
    Ok(())
}

fn check_host(version: Version, headers: &HeaderMap) -> Result<(), &'static str> {
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
            assert_eq!(check_host(Version::HTTP_11, &headers(&[("host", host)])), Ok(()));
        }
        assert_eq!(check_host(Version::HTTP_10, &headers(&[])), Ok(()));
    }

    #[test]
    fn requests_without_one_plain_host_are_refused() {
        assert!(check_host(Version::HTTP_11, &headers(&[])).is_err());
        assert!(check_host(Version::HTTP_11, &headers(&[("host", "a"), ("host", "b")])).is_err());
        assert!(check_host(Version::HTTP_11, &headers(&[("host", "a/v1?x")])).is_err());
    }

    #[test]
    fn only_one_chunked_is_a_transfer_coding() {
        let status = |values: &[&'static str]| {
            let pairs: Vec<_> = values.iter().map(|value| ("transfer-encoding", *value)).collect();
            check_transfer_coding(&headers(&pairs)).map_err(|error| error.status)
        };
        for fine in [&[][..], &["chunked"], &["Chunked"], &[" chunked ,"]] {
            assert_eq!(status(fine), Ok(()), "{fine:?}");
        }
        for unknown in [
            &["gzip, chunked"][..],
            &["gzip", "chunked"],
            &["chunked, gzip"],
            &["identity, chunked"],
            &["xchunked"],
            &["chunked;q=1"],
        ] {
            assert_eq!(status(unknown), Err(501), "{unknown:?}");
        }
        assert_eq!(status(&["chunked, chunked"]), Err(400));
        assert_eq!(status(&["chunked", "chunked"]), Err(400));
    }
}
