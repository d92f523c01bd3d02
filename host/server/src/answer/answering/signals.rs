//! What ends an answer from outside.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use turn::TurnFailure;

/// Ready as soon as `token` is cancelled; never without one.
pub(crate) async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Ready with the failure as soon as `token` is cancelled.
pub(crate) fn aborted(
    token: &CancellationToken,
    failure: fn() -> TurnFailure,
) -> BoxFuture<'static, TurnFailure> {
    token.clone().cancelled_owned().map(move |()| failure()).boxed()
}

pub(crate) fn shutting_down() -> TurnFailure {
    TurnFailure { code: "server_error", message: "The server is shutting down; try again.".to_owned() }
}
