//! Reading a request's body: within its size, within its time, and only if it says that it is JSON.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;

use crate::api::error::ApiError;
use crate::limits::Limits;

/// The whole body of a JSON request.
pub(super) async fn read_json(request: Request, limits: &Limits) -> Result<Bytes, ApiError> {
    check_type(&request)?;
    check_length(&request, limits.body_bytes)?;
    read(request.into_body(), limits.body_bytes, limits.body_time).await
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

async fn read(mut body: Body, limit: usize, time: Duration) -> Result<Bytes, ApiError> {
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
