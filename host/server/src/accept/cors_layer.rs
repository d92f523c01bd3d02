//! What adds the headers of cross-origin requests for the origins that the operator names.

use std::time::Duration;

use http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::accept::origins::CorsOrigin;

/// Headers of answers that web pages may read.
const EXPOSED: [HeaderName; 4] = [
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("request-id"),
    HeaderName::from_static("x-sluice-warning"),
    header::RETRY_AFTER,
];
/// Time for which a browser may cache a preflight's answer.
const MAX_AGE: Duration = Duration::from_mins(10);

/// What adds the headers for `origins`; none if the list is empty. Keys travel in headers, so cookies
/// (credentials) are never allowed.
pub(crate) fn cors_layer(origins: &[CorsOrigin]) -> Option<CorsLayer> {
    let exactly = |origin: &CorsOrigin| match origin {
        CorsOrigin::Any => None,
        CorsOrigin::Exactly(origin) => HeaderValue::from_str(origin).ok(),
    };
    let allowed = if origins.contains(&CorsOrigin::Any) {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins.iter().filter_map(exactly))
    };
    let layer = CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(EXPOSED)
        .max_age(MAX_AGE);
    (!origins.is_empty()).then_some(layer)
}
