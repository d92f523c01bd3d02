//! Local engine: one thread that runs all sequences step by step on a [`Runner`].
//!
//! Invariants: every generation gets exactly one last step, whatever fails; a runner that panics
//! stops its own engine only; the thread sleeps while no sequence can go on, and is joined when the
//! engine is dropped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Wake, Waker};
use std::thread::JoinHandle;
use std::time::Instant;

use crate::device_lock::DeviceLock;
use crate::engine_step::engine_step;
use crate::error::{GenerationError, SubmitError};
use crate::generation::{Engine, Finish, Generation, GenerationRequest};
use crate::inbox::Inbox;
use crate::info::{ConstraintSupport, EngineInfo, EngineStats};
use crate::logits::LogitsProcessors;
use crate::mask_patience::MaskPatience;
use crate::notify::Notify;
use crate::options::LocalOptions;
use crate::outlet::outlet;
use crate::panics::panic_text;
use crate::runner::{RunError, Runner, RunnerShape};
use crate::scheduler::Scheduler;
use crate::sequence::Sequence;
use crate::waiting_room::WaitingRoom;

/// Engine that runs its sequences on a [`Runner`]. Dropping it ends all sequences and waits for the
/// step under way.
pub struct LocalEngine {
    info: EngineInfo,
    inbox: Arc<Inbox>,
    /// Places for requests that wait, new or preempted.
    waiting_room: WaitingRoom,
    /// Whether prompts can be scored.
    scores_prompts: bool,
    /// Whether requests that wait too long are refused.
    has_deadlines: bool,
    stats: Arc<Mutex<EngineStats>>,
    /// Error of the device, once it is lost.
    lost: Arc<OnceLock<String>>,
    worker: Option<JoinHandle<()>>,
}

impl LocalEngine {
    /// Starts the engine's thread.
    pub fn start(runner: Box<dyn Runner>, options: LocalOptions) -> Self {
        let shape = runner.shape().clone();
        let inbox = Arc::new(Inbox::default());
        let waiting_room = WaitingRoom::new(options.waiting, options.principals);
        let has_deadlines = options.queue_timeout.is_some();
        let waker = Waker::from(Arc::new(EngineWaker(inbox.notify().clone())));
        let scheduler = Scheduler::new(&shape, options, waker);
        let stats = Arc::new(Mutex::new(scheduler.stats()));
        let device_lock = runner.device_lock();
        let lost = Arc::default();
        let worker = Worker {
            runner,
            device_lock,
            scheduler,
            inbox: inbox.clone(),
            stats: stats.clone(),
            lost: Arc::clone(&lost),
        };
        let worker = std::thread::Builder::new()
            .name("engine".into())
            .spawn(|| worker.work())
            .expect("the operating system starts a thread");
        Self {
            info: info(&shape),
            inbox,
            waiting_room,
            scores_prompts: shape.score_rows > 0,
            has_deadlines,
            stats,
            lost,
            worker: Some(worker),
        }
    }

    /// Ends all sequences with an error and takes no more. Doesn't wait.
    pub fn stop(&self) {
        self.inbox.stop();
    }

    fn check(&self, request: &GenerationRequest) -> Result<(), SubmitError> {
        let (prompt, begun, context) = (&request.prompt, &request.begun, self.info.context);
        // The answer has one token at least, unless the prompt is scored only.
        if prompt.is_empty() || prompt.len() + begun.len() + request.max_tokens.min(1) > context {
            return Err(SubmitError::PromptLength { tokens: prompt.len(), context });
        }
        self.check_ids(prompt.iter().chain(begun))
    }

    fn check_processors(&self, processors: &LogitsProcessors) -> Result<(), SubmitError> {
        let LogitsProcessors { bias, banned, ends, .. } = processors;
        self.check_ids(bias.iter().map(|(id, _)| id).chain(banned.iter().flatten()).chain(ends))
    }

    fn check_ids<'a>(&self, mut ids: impl Iterator<Item = &'a u32>) -> Result<(), SubmitError> {
        match ids.find(|id| **id as usize >= self.info.vocab) {
            Some(id) => Err(SubmitError::UnknownToken(*id)),
            None => Ok(()),
        }
    }
}

/// Facts for callers. The context length is the model's, or the KV cache's capacity where that is
/// smaller.
fn info(shape: &RunnerShape) -> EngineInfo {
    let cache = shape.blocks.saturating_mul(shape.block_size);
    EngineInfo {
        name: shape.name.clone(),
        context: shape.context.min(cache),
        vocab: shape.vocab,
        constraints: ConstraintSupport { masks: true, ..ConstraintSupport::default() },
    }
}

impl Engine for LocalEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    fn submit(&self, request: GenerationRequest) -> Result<Generation, SubmitError> {
        self.check(&request)?;
        if !self.scores_prompts {
            request.check_no_scores(&self.info.name)?;
        }
        request.check_constraint(&self.info.name)?;
        self.check_processors(&request.processors)?;
        let place = if request.begun.is_empty() {
            self.waiting_room.enter(request.principal)?
        } else {
            self.waiting_room.enter_again(request.principal)
        };
        let (outlet, inlet) = outlet(request.queue, self.has_deadlines, self.inbox.notify().clone());
        let mut sequence = Sequence::new(request, self.info.context, outlet);
        sequence.place = Some(place);
        self.inbox.push(sequence)?;
        Ok(Generation::new(inlet))
    }

    fn is_alive(&self) -> bool {
        !self.inbox.is_stopped()
    }

    fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    fn stats(&self) -> EngineStats {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LocalEngine {
    fn drop(&mut self) {
        self.inbox.stop();
        if let Some(worker) = self.worker.take() {
            // The thread's panics are caught in `Worker::work`, and end every sequence.
            let _ = worker.join();
        }
    }
}

impl std::fmt::Debug for LocalEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalEngine")
            .field("info", &self.info)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// Wakes the engine's thread when a mask is ready.
struct EngineWaker(Arc<Notify>);

impl Wake for EngineWaker {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

/// State of the engine's thread.
struct Worker {
    runner: Box<dyn Runner>,
    /// Lock of the device, where other engines compute on it too.
    device_lock: Option<Arc<DeviceLock>>,
    scheduler: Scheduler,
    inbox: Arc<Inbox>,
    stats: Arc<Mutex<EngineStats>>,
    lost: Arc<OnceLock<String>>,
}

impl Worker {
    fn work(mut self) {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.run_until_stopped()));
        let reason = match outcome {
            Ok(Ok(())) => GenerationError::Stopped,
            Ok(Err(error)) => {
                // The reason is set before the inbox stops, so that whoever finds the engine
                // stopped can read it.
                let _ = self.lost.set(error.to_string());
                GenerationError::Run(error)
            }
            Err(panic) => GenerationError::Panicked(panic_text(panic.as_ref()).to_owned()),
        };
        self.inbox.stop();
        for sequence in self.inbox.rest() {
            self.scheduler.add(sequence);
        }
        self.scheduler.end_all(&Finish::Error(reason), &Finish::Refused(SubmitError::Stopped));
        self.update_stats();
    }

    fn run_until_stopped(&mut self) -> Result<(), RunError> {
        let began = Instant::now();
        let is_covered = self.runner.shape().ahead > 0 && self.device_lock.is_none();
        let mut patience = MaskPatience::until_notified(self.inbox.notify().clone(), is_covered);
        while let Some(arrivals) = self.inbox.take() {
            self.scheduler.set_time(began.elapsed());
            for sequence in arrivals {
                self.scheduler.add(sequence);
            }
            let device = self.device_lock.as_deref().map(DeviceLock::take);
            let moved = engine_step(&mut self.scheduler, self.runner.as_mut(), &mut patience)?;
            drop(device);
            self.update_stats();
            if !moved {
                self.inbox.sleep(self.scheduler.until_deadline());
            }
        }
        Ok(())
    }

    fn update_stats(&self) {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner) = self.scheduler.stats();
    }
}
