//! The store as handlers use it: whether there is one, and what clients get for the store's errors.

use std::sync::Arc;

use store::{Store, StoreError};

use crate::accept::app::App;
use api::error::ApiError;

/// Seconds after which a client may try again what the store had no room for, or couldn't write.
const RETRY_AFTER: u64 = 1;

/// The server's store.
///
/// # Errors
/// 400 `store_disabled`: the operator runs the server without one. (Clients send 5xx again, which
/// wouldn't help.)
pub(crate) fn store(app: &App) -> Result<&Arc<dyn Store>, ApiError> {
    app.store.as_ref().ok_or_else(|| {
        let message = "This server keeps nothing between requests: start it without `--store none` to keep responses and conversations, or send everything with each request.";
        ApiError::new(400, "invalid_request_error", "store_disabled", message)
    })
}

/// The refusal that a client gets for an error of the store. It names no id that is unknown, so that
/// an id of another owner gets the same bytes as an unknown one.
pub(crate) fn refusal(error: StoreError) -> ApiError {
    let (status, code, message) = match error {
        StoreError::NotFound => {
            let message = "Nothing is stored here under this id: it is unknown, was deleted, or wasn't used for too long.";
            (404, "not_found", message.to_owned())
        }
        StoreError::DuplicateItem(id) => return ApiError::duplicate_item(&id),
        StoreError::Locked => {
            let message =
                "Another response of this conversation is being written: wait until it ends, or cancel it.";
            (400, "conversation_locked", message.to_owned())
        }
        StoreError::TooLong(what) => {
            let message = format!(
                "What is stored is too long to be continued: {what}. Compact it (POST /v1/responses/compact), or begin anew."
            );
            (400, "context_length_exceeded", message)
        }
        StoreError::QueueFull(most) => {
            let message = format!(
                "Too many background responses are waiting, of which a key may have {most}. Please try again in {RETRY_AFTER}s."
            );
            (429, "rate_limit_exceeded", message)
        }
        StoreError::Full(what) => {
            let message = format!(
                "The store is full: {what}. Delete responses or conversations, or send `store: false`, which needs no room."
            );
            (503, "store_full", message)
        }
        StoreError::Unavailable(why) => {
            // The reason may name files.
            tracing::error!(%why, "the store is unavailable");
            let message = "The server can't reach its store now: try again later, or send `store: false`, which needs none.";
            (503, "store_unavailable", message.to_owned())
        }
        StoreError::Unpaid => {
            let message = "There is no memory for what would be read of the store: try again.";
            (503, "server_unavailable", message.to_owned())
        }
        StoreError::Continued { .. } => {
            (400, "conversation_locked", "Another request continues the same turn of this thread.".to_owned())
        }
        fault @ (StoreError::Duplicate
        | StoreError::LeaseLost
        | StoreError::Nul
        | StoreError::Sequence { .. }
        | StoreError::Conflict { .. }) => {
            tracing::error!(%fault, "the store refused what the server wrote");
            (500, "server_error", "The server failed to store this.".to_owned())
        }
    };
    let kind = match status {
        429 => "rate_limit_error",
        400..500 => "invalid_request_error",
        _ => "server_error",
    };
    let retry_after = matches!(status, 429 | 503).then_some(RETRY_AFTER);
    ApiError { retry_after, ..ApiError::new(status, kind, code, message) }
}

#[cfg(test)]
mod tests {
    use store::{Full, StoreError, TooLong};

    use super::refusal;

    #[test]
    fn each_error_has_its_status_and_code() {
        for (error, status, code) in [
            (StoreError::NotFound, 404, "not_found"),
            (StoreError::Locked, 400, "conversation_locked"),
            (StoreError::TooLong(TooLong::Links), 400, "context_length_exceeded"),
            (StoreError::QueueFull(256), 429, "rate_limit_exceeded"),
            (StoreError::Full(Full::Owner), 503, "store_full"),
            (
                StoreError::Unavailable("/secret/state.db: disk I/O error".to_owned()),
                503,
                "store_unavailable",
            ),
            (StoreError::Unpaid, 503, "server_unavailable"),
            (StoreError::Duplicate, 500, "server_error"),
            (StoreError::LeaseLost, 500, "server_error"),
            (StoreError::Sequence { expected: 7 }, 500, "server_error"),
            (StoreError::Conflict { at: 7 }, 500, "server_error"),
        ] {
            let refusal = refusal(error);
            assert_eq!((refusal.status, refusal.code), (status, Some(code)));
            assert!(!refusal.message.contains("secret"), "{refusal}");
            assert_eq!(refusal.retry_after.is_some(), matches!(status, 429 | 503), "{refusal}");
        }
    }
}
