//! Late masks: the whole engine over a fake device that takes 10 ms a step and draws the tokens of
//! the cases' texts.
//!
//! A mask has to be computed while the device computes; a late mask costs its sequence the steps
//! until it's ready.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::batch::Batch;
use engine::runner::{Draw, Draws, RunError, Runner, RunnerShape, Sampled};
use engine::{Engine, Finish, GenerationRequest, LocalEngine, LocalOptions, SpeculationOptions, Token};
use futures_util::future::join_all;
use mask::MaskStart;

/// Time of one step of the device.
const STEP: Duration = Duration::from_millis(10);
/// Numbers of sequences that run together.
const SEQUENCES: [usize; 4] = [1, 16, 64, 256];
/// The same, of answers that may call plain tools.
const OF_PLAIN_TOOLS: [usize; 4] = [1, 4, 16, 64];
const BLOCK: usize = 16;

/// Answer: its mask at the start, if it is constrained, and its tokens up to the stop.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) start: Option<Arc<MaskStart>>,
    pub(crate) ids: Arc<[u32]>,
}

/// Prints the figures for each number of sequences. `fresh` returns the answers with grammars that
/// no sequence has used yet.
pub(crate) fn print(vocab: usize, fresh: impl Fn() -> Vec<Answer>) {
    println!(
        "\nmasks of sequences that run together, {} ms a step; the first of each grammar fills its lexer\n",
        STEP.as_millis()
    );
    print_head("grammars");
    let grammars = fresh().len();
    for count in [1, grammars] {
        for sequences in SEQUENCES {
            if sequences >= count {
                together(&count.to_string(), vocab, &fresh()[..count], sequences);
            }
        }
    }
}

/// Prints the figures of answers that may call plain tools, beside the same answers without a mask.
/// `fresh` returns them by name, with grammars that no sequence has used yet.
pub(crate) fn print_plain(vocab: usize, fresh: impl Fn() -> Vec<(&'static str, Answer)>) {
    println!("\nthe same, of answers that may call plain tools, in their envelope and free\n");
    print_head("tools");
    for (at, (name, _)) in fresh().into_iter().enumerate() {
        let name = name.trim_start_matches("prose, ").trim_end_matches(" plain tools");
        for sequences in OF_PLAIN_TOOLS {
            let answer = fresh().swap_remove(at).1;
            together(&format!("{name}, free"), vocab, &[Answer { start: None, ..answer.clone() }], sequences);
            together(name, vocab, &[answer], sequences);
        }
    }
}

fn print_head(first: &str) {
    println!(
        "{first:<12}{:>10}{:>8}{:>8}{:>12}{:>8}{:>8}{:>12}{:>10}",
        "sequences", "tokens", "late", "of tokens", "steps", "least", "ms a step", "tokens/s"
    );
}

fn together(name: &str, vocab: usize, answers: &[Answer], sequences: usize) {
    let engine = LocalEngine::start(Box::new(SlowRunner::new(vocab, answers, sequences)), options(sequences));
    let asked: Vec<_> = (0..sequences).map(|at| at % answers.len()).collect();
    let began = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(join_all(asked.iter().map(|&answer| read(&engine, answer, &answers[answer]))));
    let took = began.elapsed();
    // Readers get the last step before the engine's statistics count it.
    while engine.stats().running > 0 {
        std::thread::yield_now();
    }
    let stats = engine.stats();
    let tokens: usize = asked.iter().map(|&answer| answers[answer].ids.len()).sum();
    let least = answers.iter().map(|answer| answer.ids.len()).max().unwrap_or(0);
    println!(
        "{name:<12}{sequences:>10}{tokens:>8}{:>8}{:>11.2}%{:>8}{least:>8}{:>12.2}{:>10.0}",
        stats.late_masks,
        100.0 * stats.late_masks as f64 / tokens as f64,
        stats.steps,
        took.as_secs_f64() * 1e3 / stats.steps as f64,
        tokens as f64 / took.as_secs_f64(),
    );
}

fn options(sequences: usize) -> LocalOptions {
    LocalOptions {
        sequences,
        prefix_cache: false,
        speculation: SpeculationOptions::OFF,
        ..LocalOptions::default()
    }
}

/// Generates one answer; its number is the prompt's only token.
async fn read(engine: &LocalEngine, number: usize, answer: &Answer) {
    let stop = *answer.ids.last().expect("a stop");
    let prompt = [u32::try_from(number).expect("few")];
    let request = GenerationRequest {
        stop_ids: Arc::from([stop]),
        mask: answer.start.as_ref().map(|start| Box::new(start.mask()) as _),
        ..GenerationRequest::greedy(prompt, answer.ids.len(), 16)
    };
    let mut generation = engine.submit(request).expect("a request that is taken");
    let mut finish = None;
    while let Some(step) = generation.next().await {
        finish = step.finish.or(finish);
    }
    assert_eq!(finish, Some(Finish::Stop(stop)), "the whole answer was allowed");
}

/// Fake device that draws for each sequence the tokens of the answer that its prompt names, one
/// step ahead of `collect`.
struct SlowRunner {
    shape: RunnerShape,
    answers: Vec<Arc<[u32]>>,
    /// Index of the answer of each lane's sequence.
    answer_of_lane: HashMap<u32, usize>,
    /// Lane of each row of logits in the step that was begun last.
    rows: Vec<u32>,
    /// Time at which the device finishes all steps that were begun.
    done: Instant,
    drawn: VecDeque<(Instant, Sampled)>,
    collected: Sampled,
}

impl SlowRunner {
    fn new(vocab: usize, answers: &[Answer], sequences: usize) -> Self {
        let answers: Vec<_> = answers.iter().map(|answer| Arc::clone(&answer.ids)).collect();
        let context = 2 + answers.iter().map(|ids| ids.len()).max().unwrap_or(0);
        let shape = RunnerShape {
            name: "10 ms a step".into(),
            vocab,
            context,
            batch_tokens: 512,
            score_rows: 3,
            block_size: BLOCK,
            blocks: sequences * context.div_ceil(BLOCK),
            lanes: sequences,
            states: None,
            ahead: 1,
        };
        Self {
            shape,
            answers,
            answer_of_lane: HashMap::new(),
            rows: Vec::new(),
            done: Instant::now(),
            drawn: VecDeque::new(),
            collected: Sampled::default(),
        }
    }

    /// Token at the draw's position; after the end, for rows that nobody reads, the last token.
    fn token(&self, lane: u32, draw: &Draw) -> Token {
        let ids = &self.answers[self.answer_of_lane[&lane]];
        let at = draw.position.saturating_sub(1).min(ids.len() - 1);
        Token { id: ids[at], logprobs: None }
    }
}

impl Runner for SlowRunner {
    fn shape(&self) -> &RunnerShape {
        &self.shape
    }

    fn forward(&mut self, batch: &Batch) -> Result<(), RunError> {
        self.rows.clear();
        for (at, &lane) in batch.lanes.iter().enumerate() {
            let (from, to) = (batch.starts[at], batch.starts[at + 1]);
            if batch.positions[from as usize] == 0 {
                self.answer_of_lane.insert(lane, batch.tokens[from as usize] as usize);
            }
            let rows = batch.logit_rows.iter().filter(|row| (from..to).contains(row));
            self.rows.extend(rows.map(|_| lane));
        }
        self.done = self.done.max(Instant::now()) + STEP;
        Ok(())
    }

    fn sample(&mut self, draws: &Draws<'_>) -> Result<(), RunError> {
        draws.check(self.rows.len(), self.shape.vocab)?;
        let tokens = self.rows.iter().zip(draws.rows).map(|(&lane, draw)| Ok(self.token(lane, draw)));
        let sampled = Sampled { rows: tokens.collect() };
        self.drawn.push_back((self.done.max(Instant::now()), sampled));
        Ok(())
    }

    fn collect(&mut self) -> Result<&Sampled, RunError> {
        let (done, sampled) = self.drawn.pop_front().ok_or(RunError::Order("collect"))?;
        std::thread::sleep(done.saturating_duration_since(Instant::now()));
        self.collected = sampled;
        Ok(&self.collected)
    }
}
