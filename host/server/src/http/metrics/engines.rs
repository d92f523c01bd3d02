//! Figures of the models' engines, which are read when somebody scrapes.

use std::sync::Arc;

use metrics::{counter, describe_counter, describe_gauge, gauge};
use model::EngineStats;
use model::observe::MetricName;
use model::{Model, Models};

const PAUSED: &str = "sluice_num_requests_paused";
const BLOCKS: &str = "sluice_kv_cache_blocks";
const FREE_BLOCKS: &str = "sluice_kv_cache_free_blocks";
const STEPS: &str = "sluice_engine_steps_total";
const REFUSED: &str = "sluice_engine_refused_total";
const LATE_MASKS: &str = "sluice_late_masks_total";
const LOST_MASKS: &str = "sluice_lost_masks_total";

pub(crate) fn describe() {
    describe_gauge!(PAUSED, "Requests that pause because their client reads nothing.");
    describe_gauge!(BLOCKS, "Blocks of the KV cache.");
    describe_gauge!(FREE_BLOCKS, "Blocks of the KV cache that no request holds.");
    describe_counter!(STEPS, "Steps of the engine.");
    describe_counter!(REFUSED, "Requests refused because they waited too long for the engine.");
    describe_counter!(LATE_MASKS, "Steps that a request left out because the mask of its grammar was late.");
    describe_counter!(LOST_MASKS, "Answers that went on without their mask, which nothing had asked for.");
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
    for (name, value) in [
        (MetricName::RUNNING.full(), running as f64),
        (MetricName::WAITING.full(), waiting as f64),
        (MetricName::KV_CACHE_USAGE.full(), held),
        (PAUSED.to_owned(), paused as f64),
        (BLOCKS.to_owned(), total_blocks as f64),
        (FREE_BLOCKS.to_owned(), free_blocks as f64),
    ] {
        gauge!(name, "model_name" => Arc::clone(&label)).set(value);
    }
    for (name, value) in [
        (MetricName::PREEMPTIONS.full(), preemptions),
        (MetricName::DRAFTED.full(), drafted_tokens),
        (MetricName::ACCEPTED.full(), accepted_tokens),
        (STEPS.to_owned(), steps),
        (REFUSED.to_owned(), refused),
        (LATE_MASKS.to_owned(), late_masks),
        (LOST_MASKS.to_owned(), lost_masks),
    ] {
        counter!(name, "model_name" => Arc::clone(&label)).absolute(value);
    }
}
