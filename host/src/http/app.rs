//! What all routes share.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::access::Access;
use super::capacity::Capacity;
use crate::accounts::Accounts;
use crate::api::Defaults;
use crate::api::error::ApiError;
use crate::limits::Limits;
use crate::model::{Model, Models};

/// What every request sees. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Shared>);

/// The fields of `App`.
pub struct Shared {
    /// The served models.
    pub models: Models,
    /// What protocols need to know to read requests for each of them, in the same order.
    defaults: Vec<Defaults>,
    /// Bounds.
    pub limits: Limits,
    /// Who may use the server.
    pub access: Access,
    /// What requests may use before an answer begins.
    pub accounts: Accounts,
    /// Connections that may be open at a time.
    pub(super) capacity: Capacity,
    /// Large bodies that may be read at a time: the other cores are for those who wait less long.
    pub(super) readers: Semaphore,
    /// Checks every stream that goes out against the event grammar.
    pub check_streams: bool,
    /// No new work is taken.
    pub(super) stopping: CancellationToken,
    /// Streams still open must end now.
    pub(super) aborting: CancellationToken,
    /// Owns every task.
    pub(super) tasks: TaskTracker,
}

impl std::ops::Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl App {
    /// An app that serves `models`. Of `defaults`, what belongs to a model is each model's own.
    pub fn new(
        models: Models,
        limits: Limits,
        access: Access,
        defaults: &Defaults,
        check_streams: bool,
    ) -> Self {
        let accounts = Accounts::new(&limits, access.keys.count());
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self(Arc::new(Shared {
            accounts,
            capacity: Capacity::new(limits.connections),
            readers: Semaphore::new(cores.div_ceil(2)),
            defaults: models.iter().map(|model| defaults.of(model)).collect(),
            models,
            limits,
            access,
            check_streams,
            stopping: CancellationToken::new(),
            aborting: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }))
    }

    /// The model that a request asks for by `name`, with what its readers need to know. One that names none means the only one.
    ///
    /// # Errors
    /// 404 where no model has the name, 400 where there is none and several models are served.
    pub(super) fn pick(&self, name: Option<&str>) -> Result<(&Model, &Defaults), ApiError> {
        let mut served = self.models.iter().zip(&self.defaults);
        match name {
            Some(name) => {
                served.find(|(model, _)| model.is_named(name)).ok_or_else(|| ApiError::model_not_found(name))
            }
            None => match (served.next(), served.next()) {
                (Some(only), None) => Ok(only),
                _ => Err(ApiError::model_missing(self.models.iter().map(|model| &*model.names()[0]))),
            },
        }
    }
}
