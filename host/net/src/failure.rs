//! Another server's answer within a bound, and a failed connection in words.

use reqwest::Response;

use crate::tls;

/// Body of a response that isn't a stream; an error if it has more than `most` bytes.
pub async fn read_body(mut response: Response, most: usize) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| connection_words(&error))? {
        if body.len() + chunk.len() > most {
            return Err(format!("its answer has more than {most} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Why a connection failed, without the URL, which the caller already names.
pub fn connection_words(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let certificate = tls::untrusted(error).map(|reason| format!("the server's certificate {reason}"));
    let words = certificate.unwrap_or_else(|| cause.to_string());
    if error.is_timeout() {
        "no answer in time".to_owned()
    } else if error.is_connect() {
        format!("no connection: {words}")
    } else {
        words
    }
}
