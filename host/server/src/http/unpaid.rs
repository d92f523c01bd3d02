//! Reads of the store whose results no account pays for yet. How large a page or a context is, is
//! known once it is in memory; so few are read at a time, and each is paid for, or dropped, before
//! the next.

use tokio::sync::SemaphorePermit;

use super::app::App;
use api::error::ApiError;

/// Reads at a time: as many as the store has threads for them.
pub(super) const UNPAID: usize = 2;

/// Waits for a place, which is to be kept until what was read is paid for.
///
/// # Errors
/// The server is stopping.
pub(super) async fn unpaid(app: &App) -> Result<SemaphorePermit<'_>, ApiError> {
    app.unpaid.acquire().await.map_err(|_| ApiError::unavailable("The server is stopping."))
}
