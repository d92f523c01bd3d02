//! How many connections there may be. On those beyond that, requests get 503 but for `/health`; a few such are served at a time, and
//! what comes on top of them is closed at once, so that a flood costs no memory. The admin listener counts none.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderValue, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::answer::refuse;
use super::app::App;
use super::body::discard_unasked;
use crate::api::error::ApiError;

/// Connections beyond the bound that are told so at a time.
const EXCESS: usize = 64;

/// The places for connections.
pub(super) struct Capacity {
    places: Arc<Semaphore>,
    excess: Arc<Semaphore>,
}

/// A connection's place. Put into each request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Served,
    /// There are as many as there may be.
    Excess,
}

impl Capacity {
    pub(super) fn new(connections: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS))),
            excess: Arc::new(Semaphore::new(EXCESS)),
        }
    }

    /// A place for a new connection, given back when it is dropped; none where even refusals are too many.
    pub(super) fn admit(&self) -> Option<(Admission, OwnedSemaphorePermit)> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Some((Admission::Served, place));
        }
        metrics::counter!("sluice_connections_refused_total").increment(1);
        let place = Arc::clone(&self.excess).try_acquire_owned().ok()?;
        Some((Admission::Excess, place))
    }
}

/// The layer: 503 with `Retry-After` for what comes on a connection too many, which ends with that.
pub(super) async fn refuse_excess(State(app): State<App>, request: Request, next: Next) -> Response {
    if request.extensions().get() != Some(&Admission::Excess) {
        return next.run(request).await;
    }
    let mut response = if request.uri().path() == "/health" {
        next.run(request).await
    } else {
        discard_unasked(request, &app.limits).await;
        refuse(&ApiError::unavailable("Too many connections are open. Please try again."))
    };
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
