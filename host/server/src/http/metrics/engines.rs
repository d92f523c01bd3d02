//! Figures of the models' engines, which are read when somebody scrapes.

use std::sync::Arc;

use metrics::{counter, gauge};
use model::observe::metrics::{
    ACCEPTED, CACHE_CONFIG, DRAFTED, KV_CACHE_USAGE, PREEMPTIONS, RUNNING, WAITING,
};
use model::{EngineStats, Model, Models};

system::declare_metrics! {
    gauge PAUSED = "sluice_num_requests_paused", "Requests that pause because their client reads nothing.";
    gauge BLOCKS = "sluice_kv_cache_blocks", "Blocks of the KV cache.";
    gauge FREE_BLOCKS = "sluice_kv_cache_free_blocks", "Blocks of the KV cache that no request holds.";
    counter STEPS = "sluice_engine_steps_total", "Steps of the engine.";
    counter REFUSED = "sluice_engine_refused_total", "Requests refused because they waited too long for the engine.";
    counter LATE_MASKS = "sluice_late_masks_total", "Steps that a request left out because the mask of its grammar was late.";
    counter LOST_MASKS = "sluice_lost_masks_total", "Answers that went on without their mask, which nothing had asked for.";
}

/// Takes the figures of all engines.
pub(crate) fn read(models: &Models) {
    for model in models {
        take(model);
    }
}

#[expect(clippy::cast_precision_loss, reason = "metrics are f64; counts below 2^53 are exact")]
fn take(model: &Model) {
    let EngineStats {
        running,
        waiting,
        paused,
        free_blocks,
        total_blocks,
        block_size,
        steps,
        drafted_tokens,
        accepted_tokens,
        late_masks,
        lost_masks,
        preemptions,
        refused,
        ..
    } = model.engine_stats();
    let label = model.label();
    let held = total_blocks.saturating_sub(free_blocks) as f64 / total_blocks.max(1) as f64;
    for (metric, value) in [
        (RUNNING, running as f64),
        (WAITING, waiting as f64),
        (KV_CACHE_USAGE, held),
        (PAUSED, paused as f64),
        (BLOCKS, total_blocks as f64),
        (FREE_BLOCKS, free_blocks as f64),
    ] {
        gauge!(metric.name(), "model_name" => Arc::clone(&label)).set(value);
    }
    if total_blocks > 0 {
        let (size, blocks) = (block_size.to_string(), total_blocks.to_string());
        let model = Arc::clone(&label);
        gauge!(CACHE_CONFIG.name(), "model_name" => model, "block_size" => size, "num_gpu_blocks" => blocks)
            .set(1.0);
    }
    for (metric, value) in [
        (PREEMPTIONS, preemptions),
        (DRAFTED, drafted_tokens),
        (ACCEPTED, accepted_tokens),
        (STEPS, steps),
        (REFUSED, refused),
        (LATE_MASKS, late_masks),
        (LOST_MASKS, lost_masks),
    ] {
        counter!(metric.name(), "model_name" => Arc::clone(&label)).absolute(value);
    }
}
