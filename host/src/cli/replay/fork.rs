//! `host replay FILE --fork N`: the answer behind its first N tokens, by the engine.

use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use model::Job;
use model::record::line::Line;
use model::record::{Playback, Record};

use super::loaded::{self, LoadedModels, Wanted};
use super::{ReplayArguments, println_out};

/// Where an answer goes on by itself, and how.
pub(super) struct Fork<'a> {
    /// Number of recorded tokens before that.
    pub(super) tokens: usize,
    /// Settings of the others.
    pub(super) settings: &'a [(String, String)],
}

/// Generates the answer, and prints its body.
pub(super) async fn run(
    models: &mut LoadedModels<'_>,
    arguments: &ReplayArguments,
    record: &Record,
    fork: &Fork<'_>,
) -> anyhow::Result<()> {
    ensure!(record.prompts.len() == 1, "a fork needs an answer of one turn and one choice");
    let steps = record.lines.iter().filter_map(|line| match line {
        Line::Step(step) => Some(step.ids.len()),
        _ => None,
    });
    let tokens: usize = steps.sum();
    ensure!(fork.tokens <= tokens, "--fork {}: the answer has {tokens} tokens", fork.tokens);
    let loaded = models.get(record, &Wanted { parser: None, generates: true })?;
    let here = loaded.model.record_line();
    ensure!(
        here.files == record.head.model.files,
        "its model {:?} had other files: --fork needs the same weights",
        here.label
    );
    let playback = Playback::fork(record, fork.tokens);
    let (mut request, seal) = loaded::read(&loaded, arguments.seal_key.as_deref(), record, &playback)?;
    for (key, value) in fork.settings {
        set(&mut request.job, key, value).with_context(|| format!("--set {key}={value}"))?;
    }
    let loaded = Arc::clone(&loaded);
    let (_, body) = loaded::begin(&loaded, record, (request, seal), playback).await?.whole().await;
    println_out(format_args!("{body}"))?;
    Ok(())
}

fn set(job: &mut Job, key: &str, value: &str) -> anyhow::Result<()> {
    let number = |least: f32, most: f32| -> anyhow::Result<f32> {
        let number = value.parse().ok().filter(|number| (least..=most).contains(number));
        number.with_context(|| format!("expected a number from {least} to {most}"))
    };
    let sampling = &mut job.sampling;
    match key {
        "temperature" => sampling.temperature = Some(number(0.0, 2.0)?),
        "top_p" => sampling.top_p = Some(number(f32::MIN_POSITIVE, 1.0)?),
        "min_p" => sampling.min_p = Some(number(0.0, 1.0)?),
        "presence_penalty" => sampling.presence_penalty = number(-2.0, 2.0)?,
        "frequency_penalty" => sampling.frequency_penalty = number(-2.0, 2.0)?,
        "repetition_penalty" => sampling.repetition_penalty = Some(number(0.01, 10.0)?),
        "top_k" => sampling.top_k = Some(value.parse()?),
        "seed" => sampling.seed = Some(value.parse()?),
        "max_tokens" => job.max_output_tokens = Some(value.parse()?),
        _ => bail!(
            "no such setting: temperature, top_p, top_k, min_p, seed, presence_penalty, frequency_penalty, repetition_penalty or max_tokens"
        ),
    }
    Ok(())
}
