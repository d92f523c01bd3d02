//! The agent loop: compact the conversation, if that is asked for → list the servers' tools → run
//! the calls that the client has approved → generate → run the calls → generate again. It ends when
//! a turn calls no tool of the server, when the client must run or approve a call, or when a bound
//! is reached.
//!
//! A call starts as soon as its arguments are complete, while its turn goes on; the next turn
//! begins when all calls have ended.

use futures_util::future::BoxFuture;

use super::calls::Calls;
use super::compaction::{Occasion, Summary, SummaryTurn, compact, keep};
use super::event::{AnswerEvent, ServerEvent};
use super::hosted::{ForcedTool, Hosted, HostedToolKind};
use super::listing::Listing;
use super::search::NOTHING_FOUND;
use super::toolbox::{NO_SUCH_TOOL, Toolbox, builtin_names};
use super::turn_record::{RecordedCall, TOO_MANY, TurnRecord};
use grammar::ToolChoice;
use mcp::McpLimits;
use model::{EndedTurn, Job, Model, RawTurn, StartError, TurnStream};
use net::printable::printable;
use prompt::Role;
use turn::{TurnEnd, TurnEvents, TurnFailure, Usage};

/// Makes the failure to report when a turn can't be started.
pub type Refusal = Box<dyn Fn(&StartError) -> TurnFailure + Send>;

/// Error of calls that were under way when the answer ended.
const STOPPED: &str = "the response ended before the tool did";

/// An answer of several turns.
pub(super) struct AgentLoop {
    model: Model,
    /// Job of the next turn; its conversation grows with every turn.
    job: Job,
    hosted: Hosted,
    refusal: Refusal,
    toolbox: Toolbox,
    calls: Calls,
    stage: Stage,
    written: TurnRecord,
    usage: Usage,
    /// Tokens of the compaction. They count in the answer's usage, and not against its limit.
    compaction_usage: Usage,
    /// Limit on the generated tokens of all turns together.
    max_output_tokens: Option<u32>,
    turns_left: usize,
    /// Stop string that ended the last turn.
    stop_string: Option<String>,
    raw: TurnEvents,
    raw_turns: Vec<RawTurn>,
}

enum Stage {
    Begin,
    Compacting(SummaryTurn, Occasion),
    Listing(Listing),
    Starting(BoxFuture<'static, Result<TurnStream, StartError>>),
    Turn(Box<TurnStream>),
    /// Calls are under way, and no turn.
    Calling(After),
    Over,
}

/// What follows when all calls have ended.
enum After {
    /// The first turn: these calls were approved by the client.
    Approved,
    /// The next turn.
    Turn,
    End(TurnEnd),
}

impl AgentLoop {
    pub(super) fn new(model: Model, job: Job, hosted: Hosted, limits: &McpLimits, refusal: Refusal) -> Self {
        let max_output_tokens = job.max_output_tokens;
        let written = TurnRecord::new(hosted.max_calls);
        let toolbox = Toolbox::new(hosted.search.is_some());
        let calls = Calls::new(limits.calls_at_once, model.answer_context().clone(), job.trace.clone());
        Self {
            model,
            job,
            hosted,
            refusal,
            toolbox,
            calls,
            stage: Stage::Begin,
            written,
            usage: Usage::default(),
            compaction_usage: Usage::default(),
            max_output_tokens,
            turns_left: limits.turns,
            stop_string: None,
            raw: TurnEvents::default(),
            raw_turns: Vec::new(),
        }
    }

    /// Compacts the conversation first, by a turn that has started.
    pub(super) fn after_compaction(mut self, turn: TurnStream, occasion: Occasion) -> Self {
        keep(&mut self.job.conversation.messages);
        self.stage = Stage::Compacting(SummaryTurn::new(turn), occasion);
        self
    }

    pub(super) async fn next(&mut self, out: &mut Vec<AnswerEvent>) -> Option<EndedTurn> {
        match &mut self.stage {
            Stage::Begin => self.begin(out),
            Stage::Compacting(turn, occasion) => {
                let (summary, occasion) = (turn.next(out).await?, *occasion);
                return self.compacted(summary, occasion);
            }
            Stage::Listing(listing) => match listing.next().await {
                Some(Some(ServerEvent::ListEnded { server, tools: Err(reason) }))
                    if self.hosted.needs_lists =>
                {
                    let message = format!("The tools of {} can't be listed: {reason}", printable(&server));
                    let failure = TurnFailure { code: "invalid_prompt", message };
                    return Some(self.end(TurnEnd::Failed(failure)));
                }
                Some(event) => out.extend(event.map(AnswerEvent::Server)),
                None => {
                    let missing = self.listed(out)?;
                    return Some(self.end(TurnEnd::Failed(missing)));
                }
            },
            Stage::Starting(starting) => match starting.await {
                Ok(turn) => self.stage = Stage::Turn(Box::new(turn)),
                Err(error) => {
                    let failure = self.model.answer_context().refusal(|| (self.refusal)(&error));
                    return Some(self.end(TurnEnd::Failed(failure)));
                }
            },
            Stage::Turn(turn) => tokio::select! {
                ended = turn.next(&mut self.raw) => {
                    self.take(out);
                    return self.turn_ended(ended?, out);
                }
                (call_id, result) = self.calls.next() => out.push(call_ended(call_id, result)),
            },
            Stage::Calling(_) if self.calls.is_empty() => return self.called(),
            Stage::Calling(_) => {
                let (call_id, result) = self.calls.next().await;
                out.push(call_ended(call_id, result));
            }
            Stage::Over => return Some(self.end(TurnEnd::Cancelled)),
        }
        None
    }

    /// Stop string that ended the last turn, if one did.
    pub(super) fn stop_string(&self) -> Option<&str> {
        self.stop_string.as_deref()
    }

    pub(super) fn take_raw(&mut self) -> Vec<RawTurn> {
        std::mem::take(&mut self.raw_turns)
    }

    pub(super) fn abort(&mut self, failure: TurnFailure, out: &mut Vec<AnswerEvent>) -> EndedTurn {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Turn(mut turn) => {
                let ended = turn.abort(failure.clone(), &mut self.raw);
                self.raw_turns.extend(turn.take_raw());
                self.usage += ended.usage;
                self.take(out);
            }
            Stage::Compacting(mut turn, _) => self.compaction_usage = turn.abort(failure.clone(), out),
            Stage::Listing(listing) => out.extend(listing.unfinished().map(|server| {
                AnswerEvent::Server(ServerEvent::ListEnded { server, tools: Err(STOPPED.to_owned()) })
            })),
            Stage::Begin | Stage::Starting(_) | Stage::Calling(_) | Stage::Over => {}
        }
        self.cancel_calls(out);
        self.end(TurnEnd::Failed(failure))
    }

    /// Goes on in the compacted conversation, or ends the answer.
    fn compacted(&mut self, Summary { text, usage }: Summary, occasion: Occasion) -> Option<EndedTurn> {
        self.compaction_usage = usage;
        match (text, occasion) {
            (Err(end), _) => Some(self.end(end)),
            (Ok(_), occasion) if occasion.is_all() => Some(self.end(TurnEnd::Completed)),
            (Ok(text), _) => {
                compact(&mut self.job.conversation.messages, &text);
                self.stage = Stage::Begin;
                None
            }
        }
    }

    fn begin(&mut self, out: &mut Vec<AnswerEvent>) {
        let mut tools = std::mem::take(&mut self.hosted.tools);
        if self.job.demand.tool_choice == ToolChoice::None {
            // Only approved calls can run.
            tools.retain(|tools| self.hosted.approved.iter().any(|call| call.server == tools.server.label()));
        } else if self.template_describes_tools() {
            let names = builtin_names(&tools);
            self.job.template_arguments.push(("builtin_tools".to_owned(), names.into()));
        }
        let listing = Listing::new(tools, self.model.answer_context().clone());
        out.extend(listing.begin_events().map(AnswerEvent::Server));
        self.stage = Stage::Listing(listing);
    }

    /// Whether the chat template describes built-in tools itself. One that has to be called is declared
    /// as a function, since a grammar has declared tools only.
    fn template_describes_tools(&self) -> bool {
        let is_forced = |forced: &ForcedTool| forced.kind != HostedToolKind::Mcp;
        self.model.describes_builtin_tools() && !self.hosted.forced.as_ref().is_some_and(is_forced)
    }

    /// All lists have come: shows the tools to the model, and runs the approved calls. Returns the
    /// failure if the tool that has to be called isn't there.
    fn listed(&mut self, out: &mut Vec<AnswerEvent>) -> Option<TurnFailure> {
        let Stage::Listing(listing) = std::mem::replace(&mut self.stage, Stage::Calling(After::Approved))
        else {
            return None;
        };
        let builtin = self.template_describes_tools();
        let forced = self.hosted.forced.take();
        for (hosted, tools) in listing.into_answers() {
            self.toolbox.add(&hosted, &tools, builtin, forced.as_ref(), &mut self.job);
        }
        if let Some(ForcedTool { server, name, .. }) = forced {
            let Some(name) = self.toolbox.take_forced() else {
                let (name, server) = (printable(&name), printable(&server));
                let message = format!(
                    "a call of {name} is demanded, and the tool server {server} doesn't list that tool"
                );
                return Some(TurnFailure { code: "invalid_prompt", message });
            };
            self.job.demand.tool_choice = ToolChoice::Named(name);
        }
        if self.job.demand.tool_choice == ToolChoice::None {
            self.job.conversation.tools.clear();
        }
        for approved in std::mem::take(&mut self.hosted.approved) {
            let id = approved.id.clone();
            match self.toolbox.begin_approved(approved, out) {
                Ok((route, arguments)) => self.calls.run(&id, route, arguments),
                Err(event) => {
                    self.calls.note(&id, &Err(NO_SUCH_TOOL.to_owned()));
                    out.push(event);
                }
            }
        }
        None
    }

    /// Goes on after all calls have ended: starts the next turn, or ends the answer.
    fn called(&mut self) -> Option<EndedTurn> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Calling(After::Approved) => self.fill_results(),
            Stage::Calling(After::End(end)) => return Some(self.end(end)),
            _ => {
                let messages =
                    self.written.take_messages(|id| self.calls.take_result(id).unwrap_or_default());
                self.job.conversation.messages.extend(messages);
                // The call that the request requires was made in the first turn.
                self.job.demand.tool_choice = ToolChoice::Auto;
            }
        }
        if self.turns_left == 0 {
            let message =
                "The model went on calling tools without answering; the server ran as many turns as it does.";
            let failure = TurnFailure { code: "model_error", message: message.to_owned() };
            return Some(self.end(TurnEnd::Failed(failure)));
        }
        self.turns_left -= 1;
        if let Some(most) = self.max_output_tokens {
            let left = most.saturating_sub(self.usage.output_tokens);
            if left == 0 {
                return Some(self.end(TurnEnd::MaxOutputTokens));
            }
            self.job.max_output_tokens = Some(left);
        }
        let (model, job) = (self.model.clone(), self.job.clone());
        self.stage = Stage::Starting(Box::pin(async move { model.start(job).await }));
        None
    }

    /// Fills the results of approved calls into the empty messages that the conversation has for
    /// them.
    fn fill_results(&mut self) {
        for message in &mut self.job.conversation.messages {
            if let (Role::Tool, Some(id)) = (message.role, &message.tool_call_id)
                && let Some(result) = self.calls.take_result(id)
            {
                message.content = result.into();
            }
        }
    }

    /// Takes the events of the turn, and runs or refuses its calls.
    fn take(&mut self, out: &mut Vec<AnswerEvent>) {
        let mut raw = std::mem::take(&mut self.raw);
        for event in raw.drain() {
            match self.written.event(event, &self.toolbox, out) {
                RecordedCall::None => {}
                RecordedCall::Run { id, route, arguments } => self.calls.run(&id, route, arguments),
                RecordedCall::Search { id, arguments, refused } => self.search(&id, arguments, refused, out),
                RecordedCall::Refused { id, error } => {
                    let result = Err(error);
                    self.calls.note(&id, &result);
                    out.push(call_ended(id, result));
                }
            }
        }
        self.raw = raw;
    }

    /// Searches for tools, which the model sees in the result and may call from then on. What comes
    /// before them in the prompt stays as it was.
    fn search(&mut self, id: &str, arguments: String, refused: bool, out: &mut Vec<AnswerEvent>) {
        let Some(search) = &self.hosted.search else { return };
        let found = if refused { Err(TOO_MANY.to_owned()) } else { search.find(&arguments) };
        let shown = found.iter().flatten().map(|tool| tool.in_namespace()).collect();
        let declarations = found
            .as_ref()
            .map(|found| found.iter().map(|tool| tool.declaration.as_str()).collect::<Vec<_>>());
        let text = match declarations {
            Ok(none) if none.is_empty() => Ok(NOTHING_FOUND.to_owned()),
            Ok(some) => Ok(some.join("\n")),
            Err(error) => Err(error.clone()),
        };
        for tool in found.into_iter().flatten() {
            if !self.job.demand.tools.contains(&tool.definition) {
                self.job.demand.tools.push(tool.definition.clone());
            }
        }
        self.calls.note(id, &text);
        out.push(AnswerEvent::Server(ServerEvent::Searched { arguments, found: shown }));
    }

    fn turn_ended(&mut self, ended: EndedTurn, out: &mut Vec<AnswerEvent>) -> Option<EndedTurn> {
        if let Stage::Turn(turn) = &mut self.stage {
            self.raw_turns.extend(turn.take_raw());
            self.stop_string = turn.stop_string().map(str::to_owned);
        }
        self.usage += ended.usage;
        let after = match ended.end {
            TurnEnd::Failed(_) | TurnEnd::Cancelled => {
                self.cancel_calls(out);
                return Some(self.end(ended.end));
            }
            TurnEnd::Completed if self.written.goes_on() => After::Turn,
            end => After::End(end),
        };
        self.stage = Stage::Calling(after);
        None
    }

    fn cancel_calls(&mut self, out: &mut Vec<AnswerEvent>) {
        out.extend(self.calls.cancel().into_iter().map(|id| call_ended(id, Err(STOPPED.to_owned()))));
    }

    fn end(&mut self, end: TurnEnd) -> EndedTurn {
        self.stage = Stage::Over;
        let mut usage = self.compaction_usage;
        usage += self.usage;
        EndedTurn { end, usage }
    }
}

fn call_ended(call_id: String, result: Result<String, String>) -> AnswerEvent {
    AnswerEvent::Server(ServerEvent::CallEnded { call_id, result })
}
