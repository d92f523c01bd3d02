//! Scheduler, cache, sampler and model together against earlier results
//! (`goldens/whole-engine.json`): several sequences in a KV cache too small for all, with all kinds
//! of sampling. `UPDATE_EXPECT=1` writes the file anew, with every bit of a logprob.
#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use std::path::Path;

use engine::cpu::{CpuOptions, CpuRunner, Numerics, Threads};
use engine::models::{ModelConfig, Weights};
use engine::{
    Engine, Finish, Generation, GenerationRequest, LocalEngine, LocalOptions, LogitsProcessors, MaskError,
    SamplingParams, TokenMask,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Greatest difference of a logprob: machines with other instructions round differently.
const TOLERANCE: f32 = 1e-3;

/// Answer to one request.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Answer {
    name: String,
    tokens: Vec<u32>,
    /// For each token, its log-probability and then those of the likeliest tokens.
    logprobs: Vec<Vec<f32>>,
    likeliest: Vec<Vec<u32>>,
    finish: String,
}

const GREEDY: SamplingParams = SamplingParams::GREEDY;
const WARM: SamplingParams = SamplingParams { temperature: 0.9, top_p: 0.95, top_k: 0, min_p: 0.0, seed: 5 };

fn engine() -> LocalEngine {
    let text = json!({
        "architectures": ["Qwen3ForCausalLM"], "vocab_size": 1001, "hidden_size": 160, "intermediate_size": 488,
        "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 40,
        "max_position_embeddings": 512, "rope_theta": 1e4, "tie_word_embeddings": false, "attention_bias": true,
    });
    let config = ModelConfig::parse("config.json", text.to_string().as_bytes()).unwrap();
    // 28 blocks of 16 tokens, where all sequences together would need three times that.
    let options = CpuOptions {
        kv_cache_bytes: 28 * 16 * 2 * 3 * 2 * 48 * 4,
        numerics: Numerics::EXACT,
        ..CpuOptions::default()
    };
    let runner = CpuRunner::new(
        &config,
        &Weights::random(11),
        &Threads::start(Some(2)).unwrap(),
        &options,
        &mut |_| {},
    )
    .unwrap();
    let options = LocalOptions { batch_tokens: 40, sequences: 6, ..LocalOptions::default() };
    LocalEngine::start(Box::new(runner), options)
}

fn request(length: u32, salt: u32, sampling: SamplingParams) -> GenerationRequest {
    // The first 20 tokens are the same for all.
    let prompt = (0..length).map(|at| (at * 37 + if at < 20 { 0 } else { salt }) % 1001);
    GenerationRequest {
        sampling,
        top_logprobs: Some(3),
        ..GenerationRequest::greedy(prompt.collect::<Vec<_>>(), 60, 100)
    }
}

/// Allows multiples of three.
#[derive(Debug)]
struct Threes;

impl TokenMask for Threes {
    fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError> {
        (0..1001).filter(|id| id % 3 != 0).for_each(|id| mask[id / 32] &= !(1 << (id % 32)));
        Ok(())
    }

    fn advance(&mut self, _: u32) -> Result<(), MaskError> {
        Ok(())
    }
}

fn requests() -> Vec<(&'static str, GenerationRequest)> {
    let processors = LogitsProcessors {
        presence: 0.7,
        frequency: 0.4,
        repetition: 1.3,
        bias: vec![(7, 3.0), (900, -100.0)],
        banned: vec![vec![7], vec![37, 74], vec![1, 2, 3]],
        ..LogitsProcessors::default()
    };
    let few = SamplingParams { top_k: 20, seed: 6, ..WARM };
    let penalised = GenerationRequest { processors: processors.clone(), ..request(33, 1, GREEDY) };
    let both = GenerationRequest { processors, mask: Some(Box::new(Threes)), ..request(50, 2, WARM) };
    let stops = GenerationRequest { stop_ids: (100..140).collect(), ..request(64, 8, WARM) };
    vec![
        ("greedy", request(100, 3, GREEDY)),
        ("nucleus", request(21, 4, WARM)),
        ("top-k", request(45, 5, few)),
        ("min-p", request(80, 6, SamplingParams { min_p: 0.05, top_p: 1.0, seed: 7, ..WARM })),
        ("masked", GenerationRequest { mask: Some(Box::new(Threes)), ..request(16, 7, WARM) }),
        ("penalised", penalised),
        ("penalised and masked", both),
        ("no logprobs", GenerationRequest { top_logprobs: None, ..request(100, 3, few) }),
        ("stopped", stops),
        ("the same again", request(100, 3, GREEDY)),
    ]
}

async fn read(name: &str, mut generation: Generation) -> Answer {
    let mut answer = Answer { name: name.to_owned(), ..Answer::default() };
    while let Some(step) = generation.next().await {
        for token in step.tokens {
            answer.tokens.push(token.id);
            if let Some(logprobs) = token.logprobs {
                let (ids, top): (Vec<u32>, Vec<f32>) = logprobs.top.into_iter().unzip();
                answer.logprobs.push([vec![logprobs.chosen], top].concat());
                answer.likeliest.push(ids);
            }
        }
        answer.finish = match step.finish {
            None => continue,
            Some(Finish::Stop(id)) => format!("stop {id}"),
            Some(other) => format!("{other:?}").to_lowercase(),
        };
    }
    answer
}

fn assert_close(got: &Answer, wanted: &Answer) {
    let plain = |answer: &Answer| (answer.tokens.clone(), answer.likeliest.clone(), answer.finish.clone());
    assert_eq!(plain(got), plain(wanted), "{}", wanted.name);
    let logprobs = got.logprobs.iter().flatten().zip(wanted.logprobs.iter().flatten());
    for (got, wanted) in logprobs {
        assert!((got - wanted).abs() <= TOLERANCE, "{got} was {wanted}");
    }
}

#[test]
fn answers_are_those_written_down() {
    let engine = engine();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let generations: Vec<_> =
        requests().into_iter().map(|(name, request)| (name, engine.submit(request).unwrap())).collect();
    let answers = generations.into_iter().map(|(name, generation)| runtime.block_on(read(name, generation)));
    let answers: Vec<Answer> = answers.collect();
    assert!(engine.stats().preemptions > 0, "nobody lost blocks");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/whole-engine.json");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let lines: Vec<String> = answers.iter().map(|one| serde_json::to_string(one).unwrap()).collect();
        std::fs::write(&path, format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    }
    let wanted: Vec<Answer> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(answers.len(), wanted.len());
    answers.iter().zip(&wanted).for_each(|(got, wanted)| assert_close(got, wanted));
}
