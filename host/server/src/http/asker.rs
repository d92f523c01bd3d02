//! What handlers of stored things need of a request beside its path and body.

use axum::extract::{FromRequestParts, MatchedPath};
use axum::response::Response;
use http::request::Parts;
use store::Owner;

use super::answer::refuse;
use super::app::App;
use super::body;
use super::connection::Disconnect;
use api::error::ApiError;
use api::query::Query;
use model::accounts::{Account, Principal};

/// Copies of what was read from the store that are in memory while an answer is made.
const COPIES: usize = 2;

/// Who asks, and the query.
pub(super) struct Asker {
    principal: Principal,
    pub(super) query: Query,
    /// Closes the connection.
    pub(super) disconnect: Option<Disconnect>,
}

impl FromRequestParts<App> for Asker {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Response> {
        let principal = parts.extensions.get::<Principal>().cloned().unwrap_or_default();
        let disconnect = parts.extensions.get::<Disconnect>().cloned();
        let path = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
        let query = Query::of_endpoint(parts.method.as_str(), path, parts.uri.query().unwrap_or_default());
        Ok(Self { principal, query: query.map_err(|error| refuse(&error))?, disconnect })
    }
}

impl Asker {
    /// The owner of what the request stores and may see.
    pub(super) fn owner(&self) -> Owner {
        Owner::new(self.principal.name())
    }

    /// An account that pays for an answer of `bytes`.
    ///
    /// # Errors
    /// 503 where answers that are being sent hold all the memory that they may.
    pub(super) fn pay(&self, app: &App, bytes: usize) -> Result<Account, ApiError> {
        let mut account = app.accounts.open(self.principal.clone());
        account.hold(bytes.saturating_mul(COPIES)).map_err(body::refusal)?;
        Ok(account)
    }
}
