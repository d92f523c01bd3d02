//! Answers to heads that hyper can't read. Hyper answers them with an empty body, before any route
//! or middleware; `socket` sends these answers instead.

use bytes::Bytes;

use crate::server_metrics::REQUESTS;
use api::error::ApiError;

/// Header of hyper's answer that is replaced by the new headers.
const EMPTY: &str = "content-length: 0\r\n";

/// Answer to send instead of `written`, if hyper made `written` by itself: this server's own
/// answers all carry a request id.
pub(crate) fn answer(written: &[u8]) -> Option<Bytes> {
    if !(written.starts_with(b"HTTP/1.1 4") && written.ends_with(b"\r\n\r\n")) {
        return None;
    }
    let head = std::str::from_utf8(written).ok()?;
    if head.contains("x-request-id: ") || !head.contains(EMPTY) {
        return None;
    }
    let status: u16 = head.get(9..12)?.parse().ok()?;
    let error = ApiError::unreadable_head(status);
    metrics::counter!(REQUESTS.name(), "route" => "(none)", "status" => status.to_string()).increment(1);
    let id = crate::http::answer::RequestId::random();
    tracing::info!(id = %id.0, status, "refused a head that is no HTTP/1.1 request");
    let body = error.body();
    let headers = format!(
        "content-type: application/json\r\ncontent-length: {}\r\nx-request-id: {}\r\n",
        body.len(),
        id.0
    );
    Some(Bytes::from(head.replace(EMPTY, &headers) + &body))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::answer;

    #[test]
    fn only_bare_answers_get_a_body_of_the_right_length() {
        let bare = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\ndate: x\r\n\r\n";
        let whole = answer(bare).expect("hyper's own");
        let (head, body) = std::str::from_utf8(&whole).expect("text").split_once("\r\n\r\n").expect("a head");
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())), "{head}");
        let body: Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(body["error"]["code"], "header_too_large");
        for ours in [
            &b"HTTP/1.1 404 Not Found\r\nx-request-id: a\r\ncontent-length: 0\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            b"data: HTTP/1.1 400\r\n\r\n",
        ] {
            assert_eq!(answer(ours), None);
        }
    }
}
