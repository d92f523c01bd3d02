//! Scheduler and runner together, on a device that executes the kernels: arrivals, cancellations, preemption, masks and stops, one step ahead.
//! Everyone gets what they get alone.
//!
//! Steps have few rows, so that the same kernels take them whatever is in them: then a row's bits don't depend on its batch.

use super::rig::{device, options};
use crate::ModelFiles;
use crate::cuda::{CudaOptions, CudaRunner};
use crate::error::MaskError;
use crate::generation::{Finish, GenerationRequest, TokenMask};
use crate::logits::LogitsProcessors;
use crate::models::{ModelConfig, Weights};
use crate::options::LocalOptions;
use crate::speculation::SpeculationOptions;
use crate::tests::fake::{Client, Rig, sampled};

const VOCAB: u32 = 40;

/// One small layer and what a block of it takes: a step takes a millisecond.
#[derive(Debug, Clone, Copy)]
struct Shape {
    config: &'static str,
    block_bytes: u64,
}

const DENSE: Shape = Shape { config: LLAMA, block_bytes: 2 * 64 * 16 * 2 };
const LATENT_EXPERTS: Shape = Shape { config: DEEPSEEK, block_bytes: 64 * 24 * 2 };

const LLAMA: &str = r#"{
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "vocab_size": 40, "hidden_size": 32,
    "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16,
    "max_position_embeddings": 192, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": true
}"#;

const DEEPSEEK: &str = r#"{
    "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_act": "silu", "vocab_size": 40, "hidden_size": 32,
    "intermediate_size": 32, "moe_intermediate_size": 16, "num_hidden_layers": 1, "first_k_dense_replace": 0, "num_attention_heads": 2,
    "num_key_value_heads": 2, "kv_lora_rank": 16, "q_lora_rank": null, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 16,
    "n_routed_experts": 6, "num_experts_per_tok": 2, "n_shared_experts": 1, "n_group": 2, "topk_group": 1, "norm_topk_prob": true,
    "routed_scaling_factor": 1.5, "scoring_func": "sigmoid", "topk_method": "noaux_tc",
    "max_position_embeddings": 192, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": true
}"#;

/// Room for so many blocks, beside the one for padding.
fn runner(shape: Shape, blocks: u64) -> CudaRunner {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.json"), shape.config).unwrap();
    let config = ModelConfig::read(&ModelFiles::Directory(folder.path().to_owned())).unwrap();
    let kv_cache_bytes = Some((blocks + 1) * shape.block_bytes);
    let options = CudaOptions { kv_cache_bytes, batch_tokens: 16, lanes: 4, ..options() };
    CudaRunner::on(device(), &config, &Weights::random(3), &options, &mut |_| {}).unwrap()
}

fn rig(shape: Shape, blocks: u64) -> Rig<CudaRunner> {
    let speculation = SpeculationOptions::OFF;
    let options = LocalOptions { batch_tokens: 16, sequences: 4, speculation, ..LocalOptions::default() };
    Rig::with_runner(runner(shape, blocks), options)
}

/// No id twice in a row.
#[derive(Debug, Default)]
struct NoRepeat(Option<u32>);

impl TokenMask for NoRepeat {
    fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError> {
        if let Some(id) = self.0 {
            mask[id as usize / 32] &= !(1 << (id % 32));
        }
        Ok(())
    }

    fn advance(&mut self, token: u32) -> Result<(), MaskError> {
        if self.0.replace(token) == Some(token) { Err(MaskError::Refused(token)) } else { Ok(()) }
    }
}

/// When it comes, when its client leaves, and what it asks for.
struct Visit {
    arrival: u32,
    leaves_after: Option<u32>,
    kind: u32,
}

impl Visit {
    fn request(&self) -> GenerationRequest {
        let n = self.kind;
        // Those of a block's 64 tokens begin alike; the others grow by two blocks.
        let prompt: Vec<u32> = (0..30 + 40 * (n % 2)).map(|at| at * 7 % VOCAB).collect();
        let plain = sampled(prompt, 70 + 8 * (n % 4) as usize, n.into());
        match n % 4 {
            0 => plain,
            1 => {
                let processors = LogitsProcessors {
                    presence: 0.7,
                    repetition: 1.2,
                    banned: vec![vec![3]],
                    ..Default::default()
                };
                GenerationRequest { processors, ..plain }
            }
            2 => GenerationRequest { mask: Some(Box::<NoRepeat>::default()), ..plain },
            _ => GenerationRequest { stop_ids: (0..VOCAB).step_by(9).collect(), ..plain },
        }
    }
}

fn visits() -> Vec<Visit> {
    let one = |n: u32| Visit {
        arrival: n * n % 11,
        leaves_after: (n % 5 == 4).then_some(20 + n),
        kind: n * 5 % 13,
    };
    (0..9).map(one).collect()
}

fn drive(rig: &mut Rig<CudaRunner>, visits: &[Visit]) -> Vec<Client> {
    let mut clients: Vec<Option<Client>> = visits.iter().map(|_| None).collect();
    for time in 0..2000 {
        for (visit, client) in visits.iter().zip(&mut clients) {
            if visit.arrival == time {
                *client = Some(rig.submit(visit.request()));
            }
            let Some(client) = client else { continue };
            client.read(usize::MAX);
            if visit.leaves_after == Some(time - visit.arrival) {
                client.leave();
            }
        }
        let moved = rig.round();
        let is_over =
            |client: &Option<Client>| client.as_ref().is_some_and(|one| one.left() || one.finish.is_some());
        if !moved && clients.iter().all(is_over) {
            break;
        }
    }
    clients.into_iter().flatten().collect()
}

fn alone(shape: Shape, visit: &Visit) -> (Vec<u32>, Option<Finish>) {
    let mut rig = rig(shape, 8);
    let mut client = rig.submit(visit.request());
    while rig.round() {
        client.read(usize::MAX);
    }
    client.read(usize::MAX);
    (client.tokens, client.finish)
}

fn check(shape: Shape, runs: &[(u64, bool)]) {
    let visits = visits();
    let expected: Vec<_> = visits.iter().map(|visit| alone(shape, visit)).collect();
    for (blocks, preempts) in runs {
        let mut rig = rig(shape, *blocks);
        let clients = drive(&mut rig, &visits);
        assert_eq!(clients.len(), visits.len());
        for (client, (tokens, finish)) in clients.iter().zip(&expected) {
            if client.left() {
                assert!(tokens.starts_with(&client.tokens));
            } else {
                assert_eq!((&client.tokens, &client.finish), (tokens, finish), "{blocks} blocks");
            }
        }
        let stats = rig.scheduler.stats();
        assert_eq!((stats.free_blocks, stats.running, stats.waiting), (stats.total_blocks, 0, 0));
        assert_eq!(
            (stats.preemptions > 0, stats.prefix_hit_tokens > 0),
            (*preempts, true),
            "{blocks} blocks"
        );
    }
}

#[test]
fn everyone_gets_what_they_get_alone_on_a_device_that_is_one_step_ahead() {
    check(DENSE, &[(20, false), (4, true)]);
}

#[test]
fn so_they_do_with_experts_and_a_compressed_cache() {
    check(LATENT_EXPERTS, &[(4, true)]);
}
