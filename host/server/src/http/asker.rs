//! What handlers of stored things need of a request beside its path and body.

use axum::extract::{FromRequestParts, MatchedPath};
use axum::response::Response;
use http::request::Parts;
use store::{Budget, Order, Owner, Page};

use crate::accept::app::App;
use crate::http::answer::{event_names, refuse};
use crate::http::connection::Disconnect;
use crate::state::reads;
use accounts::{Account, Principal};
use api::error::ApiError;
use api::event_names::EventNames;
use api::openapi;
use api::query::Query;

/// Copies of what was read from the store that are in memory while an answer is made.
const COPIES: usize = 2;

/// Who asks, and the query.
pub(crate) struct Asker {
    principal: Principal,
    pub(crate) query: Query,
    /// Whose names of events it knows.
    pub(crate) names: EventNames,
    /// Closes the connection.
    pub(crate) disconnect: Option<Disconnect>,
}

impl FromRequestParts<App> for Asker {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Response> {
        let principal = parts.extensions.get::<Principal>().cloned().unwrap_or_default();
        let disconnect = parts.extensions.get::<Disconnect>().cloned();
        let names = event_names(&parts.headers);
        let path = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
        let query = openapi::query(parts.method.as_str(), path, parts.uri.query().unwrap_or_default());
        Ok(Self { principal, query: query.map_err(|error| refuse(&error))?, names, disconnect })
    }
}

impl Asker {
    /// The owner of what the request stores and may see.
    pub(crate) fn owner(&self) -> Owner {
        Owner::new(self.principal.name())
    }

    /// Reads from the store, with the account that has paid for it before.
    ///
    /// # Errors
    /// 503 where answers that are being sent hold all the memory that they may, and the store's.
    pub(crate) async fn read<T, R: Future<Output = store::Result<T>>>(
        &self,
        app: &App,
        read: impl FnOnce(Budget) -> R,
    ) -> Result<(T, Account), ApiError> {
        reads::paid(app, app.accounts.open(self.principal.clone()), COPIES, read).await
    }

    /// The page that the query asks for; in `order` unless it says.
    ///
    /// # Errors
    /// 400 where the query asks for none that can be.
    pub(crate) fn page(&self, app: &App, order: Order) -> Result<Page, ApiError> {
        self.query.page(order, app.limits.http.page_bytes)
    }
}
