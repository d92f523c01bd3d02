//! What a route's path names.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;

use api::error::ApiError;

/// What a path names, decoded.
pub(crate) type Named<T> = Result<Path<T>, PathRejection>;

/// What a path names.
///
/// # Errors
/// 400 where it isn't UTF-8 once it is decoded.
pub(crate) fn named<T>(path: Named<T>) -> Result<T, ApiError> {
    path.map(|Path(named)| named).map_err(|_| ApiError::unreadable_path())
}
