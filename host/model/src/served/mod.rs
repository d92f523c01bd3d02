//! The served model: its parts, shared by all answers, and the operations that start an answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use engine::{EngineStats, ModelFiles, Place, SubmitError, WaitingRoom};

use super::answer_context::AnswerContext;
use super::choices::Choices;
use super::context_cut::ContextCut;
use super::error::StartError;
use super::generate::TurnStream;
use super::job::Job;
use super::parsers::{ParserReport, Parsers};
use super::source::TokenSource;
use crate::limits::ModelLimits;
use crate::observe::ModelMetrics;
use crate::record::FileDigests;
use crate::template_files::TemplateFiles;
use accounts::{Account, Caller, CpuMeter, Principal, TurnSlots};
use grammar::CallForm;
use mask::Grammars;
use parsers::PluginSource;
use prompt::{ChatFiles, ChatFormat, Conversation, GenerationDefaults, Tokenizer, approximate_bytes};
use remote::RemoteEngine;
use system::cpu_clock::thread_cpu_time;
use system::panics;
use turn::FaultPolicy;

mod efforts;
mod facts;

pub use efforts::{EffortLevel, Efforts};
pub use facts::{Written, WrittenParser};

/// A served model. Cheap to clone.
#[derive(Clone)]
pub struct Model {
    pub(super) served: Arc<Served>,
    /// Meter that books the CPU time of prompts.
    meter: CpuMeter,
    /// Principal whose jobs this handle starts.
    principal: Principal,
    /// The answer whose turns this handle starts.
    context: AnswerContext,
}

/// Parts of a served model.
pub(super) struct Served {
    pub(super) name: String,
    /// The first of the model's names, used in logs and metrics.
    pub(super) label: Arc<str>,
    pub(super) metrics: Arc<ModelMetrics>,
    pub(super) names: Vec<String>,
    pub(super) created: u64,
    /// That the engine has less context than the model allows.
    pub(super) context_cut: Option<ContextCut>,
    /// The chat template and the special tokens as the model's files have them, for clients that
    /// render prompts themselves.
    pub(super) chat: ChatFiles,
    pub(super) format: ChatFormat,
    pub(super) tokenizer: Arc<Tokenizer>,
    pub(super) parsers: Parsers,
    pub(super) fault_policy: FaultPolicy,
    /// How far calls are held of which a request demands nothing.
    pub(super) call_form: CallForm,
    /// Most tokens of reasoning by effort, where a request sets no bound.
    pub(super) reasoning_budgets: Vec<(String, u32)>,
    /// Whether the remote engines bound reasoning themselves.
    pub(super) engine_keeps_budgets: bool,
    pub(super) source: TokenSource,
    /// Compiler of grammars for this model's tokenizer, for constrained answers.
    pub(super) grammars: Arc<Grammars>,
    pub(super) defaults: GenerationDefaults,
    pub(super) limits: ModelLimits,
    /// Places for jobs whose prompt is being made or waits for that; if several principals share
    /// it, also for those that the engine hasn't accepted yet.
    pub(super) waiting_room: WaitingRoom,
    /// Whether a short prompt took long.
    pub(super) is_slow: AtomicBool,
    /// Threads for jobs that may need a grammar, shared by all models.
    pub(super) constrained: TurnSlots,
    /// The model's files, for the digests in records.
    pub(super) files: ModelFiles,
    /// Digests of the files, once a record needs them.
    pub(super) digests: OnceLock<FileDigests>,
    /// Whether several principals send requests.
    pub(super) is_shared: bool,
    /// Whether the engine is a remote one, which doesn't know of principals.
    pub(super) is_remote: bool,
}

/// Most bytes of a conversation whose prompt is made on the task's own thread: that takes less than a
/// tenth of a millisecond, and handing it to another thread as long again.
const SHORT: usize = 1 << 10;
/// CPU time of such a prompt after which none is made there any more: the template or the tokenizer is a
/// slow one, and a task's thread serves others, too.
const SOON: Duration = Duration::from_millis(5);

/// Which of the threads that make prompts a job may have. Grammars take long to compile: jobs with
/// one have some of the threads, where principals take turns, so they never keep the others out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lane {
    /// The task's own.
    Own,
    Free,
    Constrained,
}

impl Lane {
    fn of(job: &Job) -> Self {
        if job.is_constrained() {
            Self::Constrained
        } else if is_short(job) {
            Self::Own
        } else {
            Self::Free
        }
    }
}

/// Whether the job's prompt is made in no time.
fn is_short(job: &Job) -> bool {
    let Conversation { messages, tools } = &job.conversation;
    let is_one = job.sampling.n.unwrap_or(1) <= 1;
    is_one
        && !job.is_raw()
        && tools.is_empty()
        && messages.len() <= 8
        && approximate_bytes(&job.conversation) <= SHORT
}

impl Model {
    pub(super) fn new(served: Served) -> Self {
        Self {
            served: Arc::new(served),
            meter: CpuMeter::default(),
            principal: Principal::default(),
            context: AnswerContext::default(),
        }
    }

    /// This model for one request: the CPU time of prompts is booked on the request's account, and
    /// blocks of the prefix cache are shared only with requests of the same principal.
    #[must_use]
    pub fn on_account(&self, account: &Account) -> Self {
        Self {
            served: Arc::clone(&self.served),
            meter: account.meter(),
            principal: account.principal().clone(),
            context: AnswerContext::default(),
        }
    }

    /// The answer whose turns this handle starts.
    pub fn answer_context(&self) -> &AnswerContext {
        &self.context
    }

    /// This model for the turns of one answer.
    #[must_use]
    pub fn for_answer(self, context: AnswerContext) -> Self {
        Self { context, ..self }
    }

    /// This model with another engine.
    #[cfg(test)]
    pub(super) fn with_source(self, source: TokenSource) -> Self {
        let served = Arc::into_inner(self.served).expect("nobody else has it yet");
        Self { served: Arc::new(Served { source, ..served }), ..self }
    }

    /// Names that clients may ask for. The first one is shown.
    pub fn names(&self) -> &[String] {
        &self.served.names
    }

    /// The first of the names, used in logs and metrics.
    pub fn label(&self) -> Arc<str> {
        Arc::clone(&self.served.label)
    }

    /// Whether `name` is one of the names.
    pub fn is_named(&self, name: &str) -> bool {
        self.served.names.iter().any(|known| known == name)
    }

    /// Time when the model was loaded, in seconds since 1970.
    pub fn created(&self) -> u64 {
        self.served.created
    }

    /// Temperature and top-p for requests that set none.
    pub fn default_sampling(&self) -> (f32, f32) {
        (self.served.defaults.temperature.unwrap_or(1.0), self.served.defaults.top_p.unwrap_or(1.0))
    }

    /// Most tokens of prompt and answer together.
    pub fn context(&self) -> usize {
        self.served.source.info().context
    }

    /// Most bytes that a conversation may have, and its tools once more: with more, its tokens don't
    /// fit into the context.
    pub fn most_conversation_bytes(&self) -> usize {
        self.served.tokenizer.most_bytes(self.context())
    }

    /// Bytes that the compiled grammars of all models hold.
    pub fn grammar_bytes(&self) -> usize {
        self.served.grammars.held_bytes()
    }

    /// Whether the engine follows grammars by masks of this server.
    pub(super) fn takes_masks(&self) -> bool {
        self.served.source.info().constraints.masks
    }

    /// Whether the chat template describes `browser` and `python` itself, by the argument
    /// `builtin_tools`.
    pub fn describes_builtin_tools(&self) -> bool {
        self.served.format.describes_builtin_tools()
    }

    /// Error of the lost device, after which the model can't serve in this process; `None` while
    /// the device works.
    pub fn lost(&self) -> Option<&str> {
        self.served.source.lost()
    }

    /// Whether the engine takes requests.
    pub fn is_alive(&self) -> bool {
        self.served.source.is_alive()
    }

    /// The remote engines, if the model has any.
    pub fn remote(&self) -> Option<&RemoteEngine> {
        self.served.source.remote()
    }

    /// Whether the engine runs in this process.
    pub fn is_local(&self) -> bool {
        !self.served.is_remote
    }

    /// Figures of the engine, for metrics; zeros where it keeps none.
    pub fn engine_stats(&self) -> EngineStats {
        self.served.source.stats()
    }

    /// Metrics of the model's turns and answers.
    pub fn metrics(&self) -> &Arc<ModelMetrics> {
        &self.served.metrics
    }

    /// Report on the model's parsers.
    pub fn parsers(&self) -> ParserReport {
        self.served.parsers.report()
    }

    /// Reads the parser's files again, and swaps the parser if its content or source changed:
    /// streams that start from then on get the new one, running streams keep the old one. `cause`
    /// is for logs. A load that fails changes nothing.
    pub async fn reload_parsers(&self, cause: &'static str) -> ParserReport {
        self.load_parsers(cause, |parsers| parsers.reload(cause)).await
    }

    /// Whether the model's calls go out as text, though its chat template writes some: no parser was
    /// asked for, and none to choose from reads them.
    pub fn lacks_parser(&self) -> bool {
        self.served.parsers.are_lacking()
    }

    /// What the model's files say of its output.
    pub fn template_files(&self) -> TemplateFiles {
        let Served { name, chat, tokenizer, defaults, .. } = &*self.served;
        TemplateFiles::new(name.clone(), chat.clone(), tokenizer, defaults)
    }

    /// Loads a parser that was made for this model; it serves while no other one reads the model.
    /// `why` says how it was made.
    pub async fn offer_parser(&self, source: PluginSource, why: String) -> ParserReport {
        self.load_parsers("derived", |parsers| {
            parsers.offer(source, why);
            parsers.reload("derived")
        })
        .await
    }

    /// Loads parsers on a blocking thread, one load after the other.
    async fn load_parsers(
        &self,
        cause: &'static str,
        load: impl FnOnce(&Parsers) -> ParserReport + Send + 'static,
    ) -> ParserReport {
        let model = self.clone();
        let lock = Arc::clone(&self.served.parsers.reload_lock).lock_owned().await;
        let loading = tokio::task::spawn_blocking(move || {
            let _lock = lock;
            load(&model.served.parsers)
        });
        loading.await.unwrap_or_else(|error| {
            tracing::error!(panicked = error.is_panic(), "loading a parser failed");
            self.served.parsers.reload_panicked(cause)
        })
    }

    /// Starts at once to watch the plugin files; the future, which is never ready, reloads the
    /// parser whenever one changes.
    pub fn follow_plugin_files(&self) -> impl Future<Output = ()> {
        let mut changes = self.served.parsers.changes();
        async move {
            loop {
                changes.next().await;
                self.reload_parsers("watch").await;
            }
        }
    }

    /// Starts a job and waits until the engine accepts or refuses it, so that a refusal is an error
    /// here and never an event of the turn. The prompt is made on a blocking thread unless it is
    /// short, since a long one takes milliseconds of CPU. As many jobs may wait for that as for the engine.
    pub async fn start(&self, job: Job) -> Result<TurnStream, StartError> {
        let job = self.held(job)?;
        let (demand, lane) = (job.demanding_field(), Lane::of(&job));
        let context = self.context.clone();
        let starting = async {
            let (mut turn, _place) =
                self.prepare_in_place(lane, move |served, caller| served.turn(job, caller, &context)).await?;
            turn.started().await?;
            Ok(turn)
        };
        starting.await.map_err(|error: StartError| error.of(demand))
    }

    /// Starts all choices that the job asks for, as [`Self::start`] starts one.
    pub async fn start_choices(&self, job: Job) -> Result<Choices, StartError> {
        let job = self.held(job)?;
        let (demand, lane) = (job.demanding_field(), Lane::of(&job));
        let context = self.context.clone();
        let starting = async {
            let (mut choices, _place) = self
                .prepare_in_place(lane, move |served, caller| served.choices(job, caller, &context))
                .await?;
            choices.started().await?;
            Ok(choices)
        };
        starting.await.map_err(|error: StartError| error.of(demand))
    }

    /// The job, its calls held as the model's are, if it can be done. What was recorded is played as
    /// it is.
    fn held(&self, mut job: Job) -> Result<Job, StartError> {
        self.check(&job)?;
        if self.context.playback().is_some() {
            return Ok(job);
        }
        let takes_a_form = self.takes_a_form(&job).is_ok();
        if !job.is_raw() || self.served.engine_keeps_budgets {
            job.reasoning_budget = job.reasoning_budget.or_else(|| self.served.budget_by_effort(&job));
        }
        if takes_a_form {
            job.demand.call_form = self.served.call_form;
            job.demand.bounds_reasoning = job.reasoning_budget.is_some() && self.takes_masks();
        }
        Ok(job)
    }

    /// Refuses a job that demands a constraint if the engine supports none, before its prompt is
    /// made; and one that remote engines would put before other principals' requests, since they
    /// don't know of principals.
    ///
    /// # Errors
    /// [`StartError::Constraint`], or [`SubmitError::Unsupported`] for the priority.
    pub fn check(&self, job: &Job) -> Result<(), StartError> {
        let (source, demand) = (&self.served.source, job.demanding_field());
        if demand.is_some() && !source.info().constraints.any() {
            return Err(StartError::from(SubmitError::no_constraints(source.name())).of(demand));
        }
        if job.priority < 0 && self.served.is_shared && self.served.is_remote {
            let reason = "the server has several keys, and a remote engine would put the requests of this one before all others': use 0 or more";
            return Err(SubmitError::Unsupported { field: "priority", reason: reason.to_owned() }.into());
        }
        Ok(())
    }

    /// Counts the tokens of the job's prompt; of the first one, if it has several.
    pub async fn count_prompt(&self, job: Job) -> Result<usize, StartError> {
        self.prepare(move |served, _| Ok(served.ids(job)?.len())).await
    }

    /// Runs `work` on a blocking thread, and refuses it if too many jobs are prepared or wait for
    /// that.
    pub(super) async fn prepare<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Served>, &Caller) -> Result<T, StartError> + Send + 'static,
    ) -> Result<T, StartError> {
        self.prepare_in_place(Lane::Free, work).await.map(|(done, _)| done)
    }

    /// As [`Self::prepare`]. If several principals share the room, the job keeps its place until
    /// the caller drops it.
    async fn prepare_in_place<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce(&Arc<Served>, &Caller) -> Result<T, StartError> + Send + 'static,
    ) -> Result<(T, Option<Place>), StartError> {
        let served = Arc::clone(&self.served);
        let caller = Caller::new(self.principal.clone(), self.meter.clone());
        let _waits = caller.waits();
        let place = served.waiting_room.enter(self.principal.number())?;
        let slot = match lane {
            Lane::Own | Lane::Free => None,
            Lane::Constrained => served.constrained.ask(&self.principal).await.ok(),
        };
        // The thread has the place, so that the job counts until its work is done, even if the
        // client leaves.
        let prepare = move || {
            let _slot = slot;
            let done = caller.meter.run(|| work(&served, &caller))?;
            Ok((done, served.is_shared.then_some(place)))
        };
        let prepared = match lane {
            Lane::Own if !self.served.is_slow.load(Ordering::Relaxed) => {
                let began = thread_cpu_time();
                let prepared = panics::caught(prepare).map_err(|_| true);
                let took = thread_cpu_time().saturating_sub(began);
                self.served.is_slow.fetch_or(took > SOON, Ordering::Relaxed);
                prepared
            }
            Lane::Own | Lane::Free | Lane::Constrained => {
                tokio::task::spawn_blocking(prepare).await.map_err(|error| error.is_panic())
            }
        };
        prepared.unwrap_or_else(|panicked| {
            tracing::error!(panicked, "preparing a prompt failed");
            Err(StartError::Internal)
        })
    }
}
