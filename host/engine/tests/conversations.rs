//! Conversations with models whose layers keep states: prefix cache, drafts and other sequences
//! change no token, and a turn is computed from where the last one ended.
#![expect(clippy::cast_possible_truncation, reason = "counts of a few hundred")]
#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use std::path::Path;

use engine::cpu::{self, CpuOptions, Numerics, Threads};
use engine::{
    Engine, GenerationRequest, LocalEngine, LocalOptions, LogitsProcessors, ModelFiles, SpeculationOptions,
};

const MODELS: [&str; 5] =
    ["qwen35-bf16", "qwen35-moe-f32", "qwen3-next-bf16", "lfm2-bias-f32", "lfm2-moe-bf16"];
const TURNS: usize = 6;
/// Number of tokens that a turn adds, and of its answer's.
const ASKED: usize = 23;
const ANSWER: usize = 40;

/// An engine on a tiny model, with a KV cache of this size.
fn engine(name: &str, kv_cache_bytes: usize, options: LocalOptions) -> LocalEngine {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens").join(name);
    let sizes = CpuOptions { kv_cache_bytes, numerics: Numerics::EXACT, ..CpuOptions::default() };
    let threads = Threads::start(Some(2)).unwrap();
    let runner = cpu::load(&ModelFiles::Directory(folder), &threads, &sizes, &mut |_| {}).unwrap();
    LocalEngine::start(Box::new(runner), options)
}

/// The tokens that a turn of a conversation adds. They repeat, so that drafts are found.
fn asked(conversation: usize, turn: usize) -> impl Iterator<Item = u32> {
    (0..ASKED).map(move |at| 2 + ((at % 9 + conversation * 5 + turn) * 7 % 120) as u32)
}

fn request(prompt: &[u32], conversation: usize) -> GenerationRequest {
    // Few different tokens come, so that some drafts are accepted.
    let bias = (0..5).map(|id| (10 + id + conversation as u32, 6.0)).collect();
    let processors = LogitsProcessors { bias, ..LogitsProcessors::default() };
    GenerationRequest { processors, ..GenerationRequest::greedy(prompt, ANSWER, 100) }
}

/// Runs the turns of all conversations beside each other. Returns all tokens of each, and the number
/// of tokens that the prefix cache had in the last turn.
fn converse(engine: &LocalEngine, conversations: usize) -> (Vec<Vec<u32>>, Vec<usize>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (mut all, mut cached) = (vec![Vec::new(); conversations], Vec::new());
    for turn in 0..TURNS {
        let submit = |(i, tokens): (usize, &mut Vec<u32>)| {
            tokens.extend(asked(i, turn));
            engine.submit(request(tokens, i)).unwrap()
        };
        let generations: Vec<_> = all.iter_mut().enumerate().map(submit).collect();
        cached.clear();
        for (tokens, mut generation) in all.iter_mut().zip(generations) {
            let mut of_turn = 0;
            while let Some(step) = runtime.block_on(generation.next()) {
                tokens.extend(step.tokens.iter().map(|token| token.id));
                of_turn = step.cached_tokens;
            }
            cached.push(of_turn);
        }
    }
    (all, cached)
}

#[test]
fn neither_cache_nor_drafts_nor_others_change_a_token() {
    let plain = LocalOptions {
        prefix_cache: false,
        speculation: SpeculationOptions::OFF,
        sequences: 1,
        ..LocalOptions::default()
    };
    for name in MODELS {
        let (wanted, cached) = converse(&engine(name, 64 << 20, plain.clone()), 4);
        assert_eq!((cached, wanted[0].len()), (vec![0; 4], TURNS * (ASKED + ANSWER)), "{name}");
        let with_all = engine(name, 64 << 20, LocalOptions { batch_tokens: 50, ..LocalOptions::default() });
        let (got, cached) = converse(&with_all, 4);
        assert!(got == wanted, "{name}: other tokens");
        // The last turn goes on near the end of the one before.
        let before = (TURNS - 1) * (ASKED + ANSWER);
        assert!(cached.iter().all(|cached| *cached + 64 + 16 >= before), "{name}: {cached:?} of {before}");
        let stats = with_all.stats();
        assert!(
            stats.accepted_tokens > 0 && stats.drafted_tokens > stats.accepted_tokens,
            "{name}: {stats:?}"
        );
    }
}

#[test]
fn tokens_do_not_depend_on_room_for_states() {
    for name in MODELS {
        let (wanted, _) = converse(&engine(name, 64 << 20, LocalOptions::default()), 4);
        // Room for about two sequences and two snapshots, and for less than all tokens.
        let (got, _) = converse(&engine(name, 400 << 10, LocalOptions::default()), 4);
        assert!(got == wanted, "{name}");
    }
}
