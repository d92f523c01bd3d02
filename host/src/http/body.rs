//! Reading a request's body: within its size, within its time, and only if it says that it is JSON.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use bytes::{Bytes, BytesMut};
use http::Version;
use http_body_util::BodyExt;

use crate::api::error::ApiError;
use crate::limits::Limits;

/// The whole body of a JSON request.
pub(super) async fn read_json(request: Request, limits: &Limits) -> Result<Bytes, ApiError> {
    check_type(&request)?;
    let length = check_length(&request, limits.body_bytes);
    let comes_unasked = !waits_to_be_asked(&request);
    let mut body = request.into_body();
    if let Err(error) = length {
        if comes_unasked {
            discard(body, limits).await;
        }
        return Err(error);
    }
    // From here on the client was asked for the body, if it waited for that: hyper does it when reading begins.
    let whole = read(&mut body, limits.body_bytes, limits.body_time).await;
    if whole.as_ref().is_err_and(|error| error.status == 413) {
        discard(body, limits).await;
    }
    whole
}

/// Whether the client holds its body back until it is asked for it, `100 Continue` (RFC 9110, 10.1.1).
fn waits_to_be_asked(request: &Request) -> bool {
    let expects = request.headers().get(http::header::EXPECT);
    request.version() > Version::HTTP_10
        && expects.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Takes what a client still sends of a body that is too large, up to twice the limit and for a short while: most clients read an
/// answer only after they have written all, and one whose connection is closed before that never learns why.
async fn discard(mut body: Body, limits: &Limits) {
    let mut left = limits.body_bytes.saturating_mul(2);
    let discarding = async {
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                return;
            }
        }
    };
    // Who is slower has had its chance.
    let _ = tokio::time::timeout(limits.rest_time, discarding).await;
}

fn check_type(request: &Request) -> Result<(), ApiError> {
    let value = request.headers().get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.and_then(|text| text.split(';').next()).unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        Err(ApiError::unsupported_media_type())
    }
}

/// Refuses before reading what `Content-Length` says is too much.
fn check_length(request: &Request, limit: usize) -> Result<(), ApiError> {
    let length = request.headers().get(http::header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    match length.and_then(|text| text.parse::<u64>().ok()) {
        Some(length) if length > limit as u64 => Err(ApiError::too_large(limit)),
        _ => Ok(()),
    }
}

async fn read(body: &mut Body, limit: usize, time: Duration) -> Result<Bytes, ApiError> {
    let reading = async {
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| ApiError::invalid(None, "The request body ended early."))?;
            let Ok(data) = frame.into_data() else { continue };
            if whole.len() + data.len() > limit {
                return Err(ApiError::too_large(limit));
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    };
    tokio::time::timeout(time, reading).await.unwrap_or_else(|_| {
        let message = format!("The request body took longer than {} s.", time.as_secs());
        Err(ApiError { status: 408, ..ApiError::invalid(None, message) })
    })
}
