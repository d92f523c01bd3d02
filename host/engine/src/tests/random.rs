//! Any arrivals, lengths, cancellations and pauses: everyone gets what they get alone, and every
//! block comes back.

use proptest::prelude::*;

use super::fake::{Client, Rig, alone, sampled, shape};
use crate::generation::{Finish, GenerationRequest};
use crate::logits::LogitsProcessors;
use crate::options::LocalOptions;
use crate::runner::{RunnerShape, StatesShape};
use crate::speculation::SpeculationOptions;

/// One request and how its client behaves.
#[derive(Debug, Clone)]
struct Visit {
    arrival: usize,
    /// Prompts of one topic share their beginning; those of different topics have equal parts after
    /// different beginnings.
    topic: u32,
    /// Number of different tokens that come, so that drafts are accepted now and then; 0: any.
    words: u32,
    prompt: u32,
    tokens: usize,
    /// Number of alternatives with each token of the prompt, whose log-probabilities are asked for.
    scored: Option<u8>,
    queue: usize,
    /// Reads this many steps every `reads_every` steps.
    reads: usize,
    reads_every: usize,
    leaves_after: Option<usize>,
}

impl Visit {
    fn request(&self) -> GenerationRequest {
        let own = |at: u32| if at / 6 == self.topic { 20 } else { 0 };
        let prompt: Vec<u32> = (0..self.prompt).map(|at| at % 18 + own(at)).collect();
        let bias = (0..self.words).map(|id| (id, 50.0)).collect();
        let processors = LogitsProcessors { bias, ..LogitsProcessors::default() };
        let is_only_scored = self.scored.is_some() && self.prompt > 1;
        let tokens = self.tokens.max(usize::from(!is_only_scored));
        GenerationRequest {
            queue: self.queue,
            processors,
            prompt_logprobs: self.scored,
            ..sampled(prompt, tokens, self.topic.into())
        }
    }
}

fn visit() -> impl Strategy<Value = Visit> {
    let client = (1..6usize, 1..4usize, 1..6usize, proptest::option::weighted(0.2, 0..30usize));
    let scored = proptest::option::weighted(0.3, 0..4u8);
    (0..40usize, (0..3u32, 0..4u32, scored), 1..25u32, 0..15usize, client).prop_map(
        |(arrival, (topic, words, scored), prompt, tokens, client)| {
            let (queue, reads, reads_every, leaves_after) = client;
            Visit { arrival, topic, words, prompt, tokens, scored, queue, reads, reads_every, leaves_after }
        },
    )
}

fn options() -> impl Strategy<Value = LocalOptions> {
    let speculation = (0..9usize, 0..12usize)
        .prop_map(|(draft_tokens, decode_rows)| SpeculationOptions { draft_tokens, decode_rows });
    (1..30usize, 1..6usize, any::<bool>(), speculation).prop_map(
        |(batch_tokens, sequences, prefix_cache, speculation)| LocalOptions {
            batch_tokens,
            sequences,
            waiting: 99,
            principals: 1,
            queue_timeout: None,
            prefix_cache,
            speculation,
        },
    )
}

/// Drives the visits to their ends. Returns what each client saw.
fn drive(rig: &mut Rig, visits: &[Visit]) -> Vec<Client> {
    let mut clients: Vec<Option<Client>> = visits.iter().map(|_| None).collect();
    for time in 0..5000 {
        for (visit, client) in visits.iter().zip(&mut clients) {
            if visit.arrival == time {
                *client = Some(rig.submit(visit.request()));
            }
            let Some(client) = client else { continue };
            if time % visit.reads_every == 0 {
                client.read(visit.reads);
            }
            if visit.leaves_after == Some(time - visit.arrival) {
                client.leave();
            }
        }
        rig.step();
        if clients.iter().all(|one| one.as_ref().is_some_and(|one| one.left() || one.finish.is_some())) {
            break;
        }
    }
    rig.run();
    clients.into_iter().map(|client| client.expect("everyone arrived")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_those_alone_and_every_block_comes_back(
        visits in proptest::collection::vec(visit(), 1..14),
        options in options(),
        (blocks, block_size) in (10..30usize, 4..7usize),
        (lanes, ahead, score_rows) in (1..8usize, 0..2usize, 1..9usize),
        states in proptest::option::of((1..9usize, 1..6usize)),
    ) {
        let states = states.map(|(snapshots, tentative)| StatesShape { snapshots, tentative });
        let shape = RunnerShape { score_rows, lanes, states, ahead, ..shape(blocks, block_size) };
        let mut rig = Rig::new(shape, options);
        let clients = drive(&mut rig, &visits);
        for (client, visit) in clients.iter().zip(&visits) {
            let expected = alone(&visit.request());
            if client.left() {
                prop_assert!(expected.starts_with(&client.tokens));
            } else {
                prop_assert_eq!(&client.tokens, &expected);
                prop_assert_eq!(&client.finish, &Some(Finish::Length));
                client.check_scores(&visit.request().prompt, visit.scored);
            }
        }
        let stats = rig.scheduler.stats();
        prop_assert_eq!((stats.free_blocks, stats.running, stats.waiting), (blocks, 0, 0));
    }
}
