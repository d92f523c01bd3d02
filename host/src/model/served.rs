//! The model itself: what an answer needs of it, shared by all answers.

use std::sync::Arc;

use engine::SubmitError;
use tokio::sync::Semaphore;

use super::choices::Choices;
use super::error::StartError;
use super::generate::TurnStream;
use super::job::Job;
use super::parsers::{ParserReport, Parsers};
use super::source::Source;
use crate::accounts::{Account, CpuMeter, Principal};
use crate::limits::Limits;
use crate::mask::Grammars;
use crate::prompt::{ChatFormat, GenerationDefaults, Tokenizer};
use crate::turn::FaultPolicy;

/// A served model. Cheap to clone.
#[derive(Clone)]
pub struct Model {
    served: Arc<Served>,
    /// Books the CPU time that prompts take.
    meter: CpuMeter,
    /// Whose jobs it starts.
    principal: Principal,
}

/// Its parts.
pub(super) struct Served {
    pub(super) name: String,
    /// What logs and metrics call it: the first of its names.
    pub(super) label: Arc<str>,
    pub(super) names: Vec<String>,
    pub(super) created: u64,
    pub(super) format: ChatFormat,
    pub(super) tokenizer: Arc<Tokenizer>,
    pub(super) parsers: Parsers,
    pub(super) fault_policy: FaultPolicy,
    pub(super) source: Source,
    /// Of its tokenizer, for answers that must have a form.
    pub(super) grammars: Grammars,
    pub(super) defaults: GenerationDefaults,
    pub(super) limits: Limits,
    /// Permits to make a prompt.
    pub(super) preparing: Arc<Semaphore>,
}

impl Model {
    pub(super) fn new(served: Served) -> Self {
        Self { served: Arc::new(served), meter: CpuMeter::default(), principal: Principal::default() }
    }

    /// The same model for one request: CPU time of its prompts is booked with the request's principal, and only that one's answers share
    /// blocks of the prefix cache.
    #[must_use]
    pub fn on_account(&self, account: &Account) -> Self {
        Self { served: Arc::clone(&self.served), meter: account.meter(), principal: account.principal() }
    }

    /// The same with another engine.
    #[cfg(test)]
    pub(super) fn with_source(self, source: Source) -> Self {
        let served = Arc::into_inner(self.served).expect("nobody else has it yet");
        Self { served: Arc::new(Served { source, ..served }), ..self }
    }

    /// Names that clients may ask for; the first is the one to show.
    pub fn names(&self) -> &[String] {
        &self.served.names
    }

    /// The first of them, which logs and metrics have.
    pub fn label(&self) -> Arc<str> {
        Arc::clone(&self.served.label)
    }

    /// Whether `name` is one of them.
    pub fn is_named(&self, name: &str) -> bool {
        self.served.names.iter().any(|known| known == name)
    }

    /// When it was loaded, in seconds since 1970.
    pub fn created(&self) -> u64 {
        self.served.created
    }

    /// Temperature and nucleus where a request doesn't say.
    pub fn default_sampling(&self) -> (f32, f32) {
        (self.served.defaults.temperature.unwrap_or(1.0), self.served.defaults.top_p.unwrap_or(1.0))
    }

    /// Tokens that prompt and answer may have together.
    pub fn context(&self) -> usize {
        self.served.source.info().context
    }

    /// Whether its template describes `browser` and `python` itself, by the argument `builtin_tools`.
    pub fn describes_builtin_tools(&self) -> bool {
        self.served.format.describes_builtin_tools()
    }

    /// Why it can't go on in this process, once its device is lost.
    pub fn lost(&self) -> Option<&str> {
        self.served.source.lost()
    }

    /// Whether it can take work.
    pub fn is_alive(&self) -> bool {
        self.served.source.is_alive()
    }

    /// Figures of the engine, by name, for metrics.
    pub fn engine_figures(&self) -> Vec<(&'static str, f64)> {
        self.served.source.figures()
    }

    /// What is served, for people: (what, which).
    pub fn summary(&self) -> Vec<(&'static str, String)> {
        let Served { name, label, parsers, source, .. } = &*self.served;
        let model = if **label == **name { name.clone() } else { format!("{label}: {name}") };
        let parser = parsers.current();
        let descriptor = parser.descriptor();
        let info = source.info();
        vec![
            ("model", format!("{model} ({} tokens of context)", info.context)),
            ("parser", format!("{} {}", descriptor.name, descriptor.version)),
            ("engine", info.name.clone()),
        ]
    }

    /// How things stand with its parsers.
    pub fn parsers(&self) -> ParserReport {
        self.served.parsers.report()
    }

    /// Looks at the parser's files again, and swaps the parser if its content is another: streams that start from then on
    /// have the new one, streams under way keep the old one. `cause` is for logs. A load that fails changes nothing.
    pub async fn reload_parsers(&self, cause: &'static str) -> ParserReport {
        let model = self.clone();
        let turn = Arc::clone(&self.served.parsers.turn).lock_owned().await;
        let loading = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            model.served.parsers.reload(cause)
        });
        loading.await.unwrap_or_else(|error| {
            tracing::error!(%error, "loading a parser panicked");
            self.served.parsers.reload_broke(cause)
        })
    }

    /// Begins to watch the plugin files at once; the future, which is never ready, reloads whenever one changes.
    pub fn follow_plugin_files(&self) -> impl Future<Output = ()> {
        let mut changes = self.served.parsers.changes();
        async move {
            loop {
                changes.next().await;
                self.reload_parsers("watch").await;
            }
        }
    }

    /// Starts a job, up to the engine's first word: a refusal is an error here and never an event of the turn. The prompt is made
    /// on a blocking thread: a long one takes milliseconds of CPU. As many jobs may wait for that as may wait for the engine.
    pub async fn start(&self, job: Job) -> Result<TurnStream, StartError> {
        self.check(&job)?;
        let (principal, demand) = (self.principal, job.demand());
        let starting = async {
            let mut turn = self.prepare(move |served| served.turn(job, principal)).await?;
            turn.started().await?;
            Ok(turn)
        };
        starting.await.map_err(|error: StartError| error.of(demand))
    }

    /// The same for all choices that the job asks for.
    pub async fn start_choices(&self, job: Job) -> Result<Choices, StartError> {
        self.check(&job)?;
        let (principal, demand) = (self.principal, job.demand());
        let starting = async {
            let mut choices = self.prepare(move |served| served.choices(job, principal)).await?;
            choices.started().await?;
            Ok(choices)
        };
        starting.await.map_err(|error: StartError| error.of(demand))
    }

    /// Refuses a job whose answer the engine can constrain in no form, before anything is made of it.
    ///
    /// # Errors
    /// [`StartError::Constraint`].
    pub fn check(&self, job: &Job) -> Result<(), StartError> {
        let (source, demand) = (&self.served.source, job.demand());
        if demand.is_some() && !source.info().constraints.any() {
            return Err(StartError::from(SubmitError::no_constraints(source.name())).of(demand));
        }
        Ok(())
    }

    /// Counts the tokens of the prompt that a job would begin with.
    pub async fn count_prompt(&self, job: Job) -> Result<usize, StartError> {
        self.prepare(move |served| Ok(served.ids(job)?.len())).await
    }

    /// Runs `work` on a blocking thread, if there is a place in the queue for one.
    pub(super) async fn prepare<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Served) -> Result<T, StartError> + Send + 'static,
    ) -> Result<T, StartError> {
        let model = self.clone();
        let waiting = self.served.limits.waiting_requests;
        let permit = Arc::clone(&self.served.preparing).try_acquire_owned();
        let permit = permit.map_err(|_| StartError::Engine(SubmitError::Busy(waiting)))?;
        let preparing = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            model.meter.run(|| work(&model.served))
        });
        preparing.await.unwrap_or_else(|error| {
            tracing::error!(%error, "preparing a prompt panicked");
            Err(StartError::Internal)
        })
    }
}
