//! State that all routes share.

use std::sync::Arc;

use store::Store;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::accept::access::Access;
use crate::accept::capacity::Capacity;
use crate::answer::Taps;
use crate::limits::ServerLimits;
use crate::state::Presence;
use crate::state::elsewhere::Elsewhere;
use crate::state::read_places::{self, READS};
use crate::state::running::Running;
use crate::traces::TraceExporter;
use accounts::{Accounts, TurnSlots};
use api::Defaults;
use api::error::ApiError;
use model::record::Records;
use model::{Model, Models};

/// Shared state of all requests. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<AppState>);

/// The fields of `App`.
pub struct AppState {
    /// The served models.
    pub models: Models,
    /// Defaults of each model for reading requests, in the order of `models`.
    defaults: Vec<Defaults>,
    /// Bounds on requests, connections and answers.
    pub limits: ServerLimits,
    /// Keys, hosts and origins that may use the server.
    pub access: Access,
    /// Budgets of memory and CPU time that requests may use before an answer begins.
    pub accounts: Accounts,
    /// Budgets of memory for unstored responses that web sockets remember.
    pub(crate) remembered: Accounts,
    /// Places for open connections.
    pub(crate) capacity: Capacity,
    /// Places to read large bodies, for which keys take turns. There is one for every two cores: the
    /// other cores stay free for requests that take less time.
    pub(crate) readers: TurnSlots,
    /// Places to read from the store, for which keys take turns. Where keys are several, each leaves
    /// the others one.
    pub(crate) reads: TurnSlots,
    /// Whether every stream is checked against the event grammar.
    pub check_streams: bool,
    /// Where responses and conversations are kept; none: nothing is.
    pub store: Option<Arc<dyn Store>>,
    /// Records of answers; none: nothing is recorded.
    pub records: Option<Records>,
    /// Traces of answers; none: nothing is traced.
    pub taps: Option<Taps>,
    /// Permit to parse something for an operator: one at a time.
    pub(crate) parsing: Semaphore,
    /// Stored responses that run in this process.
    pub(crate) running: Running,
    /// Those who wait for what other servers write to the store.
    pub(crate) elsewhere: Elsewhere,
    /// This server among those that share the store.
    pub(crate) presence: Option<Presence>,
    /// Told when a response was stored that waits to run.
    pub(crate) queued: Notify,
    /// Where spans of answers are sent.
    pub(crate) traces: Option<TraceExporter>,
    /// Cancelled when the server takes no more work.
    pub(crate) stopping: CancellationToken,
    /// Cancelled when streams that are still open must end.
    pub(crate) aborting: CancellationToken,
    /// Tracker that owns every task.
    pub(crate) tasks: TaskTracker,
}

impl std::ops::Deref for App {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.0
    }
}

impl App {
    /// Makes an app that serves `models` and keeps what clients want kept in `store`. Each model
    /// gets a copy of `defaults` with its own sampling parameters and context.
    pub fn new(
        models: Models,
        limits: ServerLimits,
        access: Access,
        defaults: &Defaults,
        check_streams: bool,
        store: Option<Arc<dyn Store>>,
    ) -> Self {
        let accounts = Accounts::new(&limits.model.accounts, access.keys.owners());
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self(Arc::new(AppState {
            accounts,
            remembered: Accounts::of_kept(
                limits.http.remembered_memory,
                &limits.model.accounts,
                access.keys.owners(),
            ),
            capacity: Capacity::new(limits.http.connections),
            readers: TurnSlots::new(cores.div_ceil(2)),
            reads: TurnSlots::shared(READS, read_places::each(access.keys.clone())),
            defaults: models.iter().map(|model| defaults.of(model)).collect(),
            models,
            limits,
            access,
            check_streams,
            store: store.inspect(|_| store::register_metrics()),
            records: None,
            taps: None,
            parsing: Semaphore::new(1),
            running: Running::default(),
            elsewhere: Elsewhere::default(),
            presence: None,
            queued: Notify::new(),
            traces: None,
            stopping: CancellationToken::new(),
            aborting: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }))
    }

    /// The app, which has not been used yet, with records of its answers, and with traces of them if
    /// it records or `inspects`.
    #[must_use]
    pub fn observed(self, records: Option<Records>, inspects: bool) -> Self {
        let Some(state) = Arc::into_inner(self.0) else { unreachable!("nobody else has it yet") };
        let taps = (inspects || records.is_some()).then(Taps::default);
        Self(Arc::new(AppState { records, taps, ..state }))
    }

    /// The app, which has not been used yet, as one that is present among those that share its store.
    #[must_use]
    pub fn present(self, presence: Option<Presence>) -> Self {
        let Some(state) = Arc::into_inner(self.0) else { unreachable!("nobody else has it yet") };
        Self(Arc::new(AppState { presence, ..state }))
    }

    /// Whether answers can be looked into.
    pub fn inspects(&self) -> bool {
        self.taps.is_some()
    }

    /// The traces of answers.
    ///
    /// # Errors
    /// 404: none are kept.
    pub(crate) fn taps(&self) -> Result<&Taps, ApiError> {
        self.taps.as_ref().ok_or_else(ApiError::no_traces)
    }

    /// This app, with its answers' spans sent by `exporter`.
    ///
    /// # Panics
    /// If the app was cloned already.
    #[must_use]
    pub fn traced(self, exporter: TraceExporter) -> Self {
        let state = Arc::into_inner(self.0).expect("nobody else has it yet");
        Self(Arc::new(AppState { traces: Some(exporter), ..state }))
    }

    /// Defaults for what doesn't depend on a model.
    pub(crate) fn any_defaults(&self) -> &Defaults {
        &self.defaults[0]
    }

    /// The model that a request asks for by `name`, with its defaults for readers. Without a name
    /// it is the only model.
    ///
    /// # Errors
    /// 404 if no model has the name, 400 if there is no name and several models are served.
    pub(crate) fn pick(&self, name: Option<&str>) -> Result<(&Model, &Defaults), ApiError> {
        let mut served = self.models.iter().zip(&self.defaults);
        match name {
            Some(name) => {
                let named = served.find(|(model, _)| model.is_named(name));
                named.ok_or_else(|| self.model_not_found(name))
            }
            None => match (served.next(), served.next()) {
                (Some(only), None) => Ok(only),
                _ => Err(ApiError::model_missing(self.served_names())),
            },
        }
    }

    /// The refusal of a name that no model has.
    pub(crate) fn model_not_found(&self, name: &str) -> ApiError {
        ApiError::model_not_found(name, self.served_names())
    }

    /// A name of each model.
    fn served_names(&self) -> impl Iterator<Item = &str> {
        self.models.iter().map(|model| &*model.names()[0])
    }
}
