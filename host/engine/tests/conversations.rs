//! Conversations with models whose layers keep states: prefix cache, drafts and other sequences
//! change no token, and a turn is computed from where the last one ended.
#![expect(clippy::cast_possible_truncation, reason = "counts of a few hundred")]
#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use std::path::Path;

use engine::cpu::{self, CpuOptions, CpuRunner, Numerics, Threads};
use engine::runner::Runner;
use engine::{
    Engine, GenerationRequest, LocalEngine, LocalOptions, LogitsProcessors, ModelFiles, SpeculationOptions,
};

const MODELS: [&str; 5] =
    ["qwen35-bf16", "qwen35-moe-f32", "qwen3-next-bf16", "lfm2-bias-f32", "lfm2-moe-bf16"];
const TURNS: usize = 6;
/// Number of tokens that a turn adds, and of its answer's.
const ASKED: usize = 23;
const ANSWER: usize = 40;

/// Tokens at the end of a prompt that aren't in a history, as templates write the beginning of a
/// thought.
const OPENING: [u32; 2] = [5, 6];
/// Tokens before a prompt's end that its snapshot leaves out, and those of a block that isn't whole.
const MARGIN: usize = 8 + 15;

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

/// A conversation whose prompts are compared with what the engine computes of them.
struct Chat {
    /// Tokens that all later prompts begin with.
    history: Vec<u32>,
    prompts: Vec<Vec<u32>>,
    spare: usize,
}

impl Chat {
    /// A chat that begins with instructions of its own.
    fn new(conversation: usize) -> Self {
        let history = (0..9).flat_map(|part| asked(conversation, 20 + part)).collect();
        Self { history, prompts: Vec::new(), spare: 0 }
    }

    /// Asks with `prompt` and the opening behind it. Returns the answer, after a check that no more
    /// was computed than the tokens that no prompt before has, the margin, and those to spare.
    fn ask(&mut self, engine: &LocalEngine, mut prompt: Vec<u32>, opens_turn: bool, place: &str) -> Vec<u32> {
        prompt.extend(OPENING);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let asked = GenerationRequest { opens_turn, ..GenerationRequest::greedy(&prompt[..], ANSWER, 100) };
        let mut generation = engine.submit(asked).unwrap();
        let (mut answer, mut cached) = (Vec::new(), 0);
        while let Some(step) = runtime.block_on(generation.next()) {
            answer.extend(step.tokens.iter().map(|token| token.id));
            cached = step.cached_tokens;
        }
        let shared = |other: &Vec<u32>| other.iter().zip(&prompt).take_while(|(a, b)| a == b).count();
        let known = self.prompts.iter().map(shared).max().unwrap_or(0);
        assert!(cached + MARGIN + self.spare >= known, "{place}: {cached} cached, {known} known");
        self.prompts.push(prompt);
        answer
    }

    /// A message of the user, with its answer, of which the history gets the second half only.
    fn turn(&mut self, engine: &LocalEngine, conversation: usize, turn: usize) {
        self.history.extend(asked(conversation, turn));
        let place = format!("conversation {conversation}, turn {turn}");
        let answer = self.ask(engine, self.history.clone(), true, &place);
        self.history.extend(&answer[ANSWER / 2..]);
    }
}

/// An engine with room for this many snapshots.
fn engine_with_snapshots(name: &str, count: usize) -> LocalEngine {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens").join(name);
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(source.join("model.safetensors"), folder.path().join("model.safetensors")).unwrap();
    let config = std::fs::read_to_string(source.join("config.json")).unwrap();
    // A context for many turns.
    let config = config.replace("\"max_position_embeddings\": 512", "\"max_position_embeddings\": 8192");
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    let load = |kv_cache_bytes| {
        let sizes = CpuOptions { kv_cache_bytes, numerics: Numerics::EXACT, ..CpuOptions::default() };
        let files = ModelFiles::Directory(folder.path().to_owned());
        cpu::load(&files, &Threads::start(Some(2)).unwrap(), &sizes, &mut |_| {}).unwrap()
    };
    let snapshots = |runner: &CpuRunner| runner.shape().states.map_or(0, |states| states.snapshots);
    let runners = (10..200).map(|size| load(size << 16));
    let runner = runners.into_iter().find(|runner| snapshots(runner) >= count).unwrap();
    LocalEngine::start(Box::new(runner), LocalOptions::default())
}

#[test]
fn a_turn_computes_its_own_tokens_only() {
    for name in MODELS {
        let (engine, mut chat) = (engine_with_snapshots(name, 5), Chat::new(0));
        for turn in 0..20 {
            chat.turn(&engine, 0, turn);
        }
    }
}

#[test]
fn turns_of_four_chats_need_four_snapshots() {
    let engine = engine_with_snapshots("qwen35-bf16", 4);
    let mut chats: Vec<Chat> = (0..4).map(Chat::new).collect();
    for turn in 0..4 {
        for (at, chat) in chats.iter_mut().enumerate() {
            chat.turn(&engine, at, turn);
        }
    }
}

/// An answer's thoughts and calls are in the prompts up to the next message of the user, from which
/// on the thoughts are missing.
#[test]
fn a_turn_behind_many_calls_computes_its_own_tokens_only() {
    let (engine, mut chat) = (engine_with_snapshots("qwen35-bf16", 5), Chat::new(0));
    for turn in 0..3 {
        chat.turn(&engine, 0, turn);
        let mut prompt = chat.prompts.last().unwrap().clone();
        for call in 0..8 {
            prompt.extend(asked(1 + call, turn));
            let answer = chat.ask(&engine, prompt.clone(), false, &format!("turn {turn}, call {call}"));
            prompt.extend(OPENING);
            prompt.extend(answer);
        }
    }
}

/// There is no snapshot between the last answer and the message.
#[test]
fn an_edited_message_is_computed_with_the_answer_before() {
    let (engine, mut chat) = (engine_with_snapshots("qwen35-bf16", 12), Chat::new(0));
    for turn in 0..6 {
        chat.turn(&engine, 0, turn);
        let before = chat.history.clone();
        chat.turn(&engine, 1, turn);
        chat.history = before;
        chat.spare = ASKED + ANSWER / 2;
        chat.turn(&engine, 2, turn);
        chat.spare = 0;
    }
}
