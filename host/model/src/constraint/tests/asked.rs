//! Tests of the requests that engines get for a job, with the embedded model and its tokenizer.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use engine::{
    ConstraintSupport, Engine, EngineInfo, Finish, Generation, GenerationRequest, StepOutput, StepStream,
    SubmitError,
};
use serde_json::json;

use super::{ALL, at_once, demanding, forced, info, with_schema};
use crate::error::{ConstraintField, StartError};
use crate::fixture::model_over;
use crate::job::{Beginning, Job, SamplingRequest};
use crate::locate::locate;
use crate::opening_state::tests::{demand, function};
use crate::served::Model;
use grammar::Demand;
use prompt::{ChatMessage, Conversation, Role, Tokenizer};

/// Engine that records its requests, and generates no tokens.
struct Recorder {
    info: EngineInfo,
    asked: Arc<Mutex<Vec<GenerationRequest>>>,
}

struct Nothing;

impl StepStream for Nothing {
    fn poll_step(&mut self, _: &mut Context<'_>) -> Poll<Option<StepOutput>> {
        Poll::Ready(Some(StepOutput { finish: Some(Finish::Length), ..StepOutput::default() }))
    }
}

impl Engine for Recorder {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    fn submit(&self, request: GenerationRequest) -> Result<Generation, SubmitError> {
        self.asked.lock().unwrap().push(request);
        Ok(Generation::new(Nothing))
    }
}

/// The embedded model over an engine with this support, and the requests that the engine gets.
fn model(constraints: ConstraintSupport) -> (Model, Arc<Mutex<Vec<GenerationRequest>>>) {
    let asked = Arc::default();
    let engine = Recorder { info: info(constraints), asked: Arc::clone(&asked) };
    (model_over(engine), asked)
}

fn conversation(texts: &[(Role, &str)]) -> Conversation {
    let messages = texts.iter().map(|(role, text)| ChatMessage::text(*role, *text)).collect();
    Conversation { messages, tools: Vec::new() }
}

/// A job whose answer may call a strict tool.
fn may_call() -> Job {
    demanding(Demand { tools: vec![function("f", true)], ..demand() })
}

#[tokio::test]
async fn engine_hears_of_constraint_affinity_and_priority() {
    let (model, asked) = model(ALL);
    let thinks = |on: bool| vec![("enable_thinking".to_owned(), json!(on))];
    let first = conversation(&[(Role::User, "Where is it?")]);
    let later =
        conversation(&[(Role::User, "Where is it?"), (Role::Assistant, "Oslo"), (Role::User, "Sure?")]);
    for (conversation, thinking, job) in [
        (first.clone(), false, Job { priority: -2, ..with_schema() }),
        (later, true, with_schema()),
        (first, false, Job { cache_key: Some("k".to_owned()), ..may_call() }),
    ] {
        model.start(Job { conversation, template_arguments: thinks(thinking), ..job }).await.unwrap();
    }
    let asked = asked.lock().unwrap();
    let [first, later, optional] = &asked[..] else { panic!("{}", asked.len()) };
    for request in [first, later, optional] {
        let grammar = request.constraint.as_ref().unwrap().grammar.as_ref().unwrap();
        let tokenizer = model_token_ids();
        for (index, id) in tokenizer {
            assert!(grammar.contains(&format!("\nmarker_{index}: <[{id}]>\n")), "{grammar}");
        }
    }
    assert_eq!(first.constraint.as_ref().unwrap().json, Some(at_once()));
    assert_eq!(optional.constraint.as_ref().unwrap().json, None);
    assert_eq!((first.priority, later.priority), (-2, 0));
    assert_eq!(first.affinity, later.affinity);
    assert_ne!(first.affinity, optional.affinity);
}

/// Indices of Qwen3's first four markers, with their token ids in the embedded model's tokenizer.
fn model_token_ids() -> Vec<(usize, u32)> {
    let files = locate(None).unwrap().files;
    let tokenizer = Tokenizer::load(&files).unwrap();
    let markers = ["<think>", "</think>", "<tool_call>", "</tool_call>"];
    markers.iter().enumerate().map(|(index, literal)| (index, tokenizer.token_id(literal).unwrap())).collect()
}

#[tokio::test]
async fn demands_without_means_are_refused_wishes_dropped() {
    let (model, asked) = model(ConstraintSupport::default());
    for (job, field) in [(with_schema(), ConstraintField::Format), (forced(), ConstraintField::ToolChoice)] {
        let reason = "the engine (fake) knows no constrained decoding".to_owned();
        let refused = StartError::Constraint { field, reason };
        assert_eq!(model.check(&job), Err(refused.clone()));
        assert_eq!(model.start_choices(job.clone()).await.err(), Some(refused.clone()));
        assert_eq!(model.start(job).await.err(), Some(refused));
    }
    assert_eq!(asked.lock().unwrap().len(), 0);
    model.start(Job { conversation: conversation(&[(Role::User, "x")]), ..may_call() }).await.unwrap();
    assert!(asked.lock().unwrap()[0].constraint.is_none());
}

#[tokio::test]
async fn prompts_are_counted_whatever_the_engine_can_follow() {
    let (model, _) = model(ConstraintSupport::default());
    let job = Job { conversation: conversation(&[(Role::User, "x")]), ..forced() };
    assert!(model.count_prompt(job).await.unwrap() > 0);
}

#[tokio::test]
async fn nothing_is_held_where_a_grammar_could_not_let_all_of_it_come() {
    let masks = ConstraintSupport { masks: true, ..ConstraintSupport::default() };
    let (takes_masks, _) = model(masks);
    let job = || demanding(Demand { tools: vec![function("f", false)], ..demand() });
    assert_eq!(takes_masks.takes_a_form(&job()), Ok(()));
    let sampling = |set: fn(&mut SamplingRequest)| {
        let mut job = job();
        set(&mut job.sampling);
        job
    };
    let builtin = vec![("builtin_tools".to_owned(), json!(["python"]))];
    for job in [
        sampling(|sampling| sampling.ignore_eos = true),
        sampling(|sampling| sampling.min_tokens = 1),
        sampling(|sampling| sampling.bad_words = vec!["x".to_owned()]),
        Job { beginning: Beginning::ContinueLast, ..job() },
        Job { template_arguments: builtin, ..job() },
    ] {
        assert!(takes_masks.takes_a_form(&job).is_err(), "{job:?}");
    }
    assert_eq!(model(ALL).0.takes_a_form(&job()), Ok(()));
    assert!(model(ConstraintSupport::default()).0.takes_a_form(&job()).is_err());
}
