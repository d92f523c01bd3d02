//! Models of records, loaded as the recorded server had them, but without their engines.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use api::agent::AnswerStream;
use api::ids::IdSeed;
use api::seal::Seal;
use api::{ApiRequest, Defaults, Protocol};
use clap::FromArgMatches as _;
use model::record::line::ModelLine;
use model::record::{Playback, Record};
use model::{AnswerContext, EngineChoice, Model, ModelOptions, Models};
use net::printable::Escaped;
use server::ServerLimits;
use server::answer::{Answer, Replay};
use tokio_util::sync::CancellationToken;

use super::{ReplayArguments, delivery};
use crate::cli::cache::CacheArgument;
use crate::cli::load::with_switch;
use crate::cli::record::switches;
use crate::cli::serve_arguments::ServeArguments;
use crate::cli::stderr;

/// A model as a record has it.
pub(in crate::cli) struct LoadedModel {
    pub(in crate::cli) model: Model,
    pub(super) limits: ServerLimits,
    pub(super) defaults: Defaults,
}

/// What a model is loaded for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Wanted {
    /// Parser in place of the recorded one.
    pub(in crate::cli) parser: Option<String>,
    /// Whether its engine runs.
    pub(in crate::cli) generates: bool,
}

/// The models of records, of which the last one is kept.
pub(in crate::cli) struct LoadedModels<'a> {
    /// Model in place of the recorded one.
    model: Option<String>,
    cache: &'a CacheArgument,
    command: &'a clap::Command,
    last: Option<(Key, Arc<LoadedModel>)>,
}

type Key = (Vec<String>, String, Wanted);

impl<'a> LoadedModels<'a> {
    /// No models yet. `command` is the whole command line.
    pub(in crate::cli) fn new(
        model: Option<String>,
        cache: &'a CacheArgument,
        command: &'a clap::Command,
    ) -> Self {
        Self { model, cache, command, last: None }
    }

    /// The model of a record.
    ///
    /// # Errors
    /// It can't be loaded, or isn't the recorded one.
    pub(in crate::cli) fn get(
        &mut self,
        record: &Record,
        wanted: &Wanted,
    ) -> anyhow::Result<Arc<LoadedModel>> {
        let key = (record.head.switches.clone(), record.head.model.label.clone(), wanted.clone());
        if let Some((known, loaded)) = &self.last
            && *known == key
        {
            check(&loaded.model, &record.head.model)?;
            return Ok(Arc::clone(loaded));
        }
        let loaded = Arc::new(self.load(record, wanted)?);
        self.last = Some((key, Arc::clone(&loaded)));
        Ok(loaded)
    }

    fn load(&self, record: &Record, wanted: &Wanted) -> anyhow::Result<LoadedModel> {
        for switch in switches::paths(&record.head.switches)? {
            stderr::write(
                format!("note: the record's model is loaded with {}\n", Escaped(switch)).as_bytes(),
            );
        }
        let arguments = self.arguments(&record.head.switches)?;
        let limits = arguments.limits(1)?;
        let defaults = arguments.defaults(&limits, Seal::random())?;
        let label = &record.head.model.label;
        let options = self.options(&arguments, label)?;
        let options = ModelOptions {
            engine: if wanted.generates { EngineChoice::Local } else { EngineChoice::None },
            context: Some(record.head.model.context),
            parser: wanted.parser.clone().or(options.parser),
            ..options
        };
        let shared = model::SharedOptions {
            parser_cache: self.cache.folder(),
            kernel_cache: None,
            ..arguments.models.shared(0)
        };
        let load = || Models::load(&options, &[], &shared, &limits.model, &mut |_, _| {});
        let models = tokio::task::block_in_place(load).map_err(with_switch)?;
        let model = models.first().clone();
        check(&model, &record.head.model)?;
        let defaults = defaults.of(&model);
        Ok(LoadedModel { model, limits, defaults })
    }

    /// The arguments of a server with these switches.
    fn arguments(&self, given: &[String]) -> anyhow::Result<ServeArguments> {
        let serve = self.command.find_subcommand("serve").context("there is no command `serve`")?;
        switches::check(serve, given)?;
        let mut serve = serve.clone().no_binary_name(true);
        let matches = serve.try_get_matches_from_mut(given);
        let matches = matches.map_err(|error| one_line_of(&error))?;
        Ok(ServeArguments::from_arg_matches(&matches)?)
    }

    /// The options of the model with this name.
    fn options(&self, arguments: &ServeArguments, label: &str) -> anyhow::Result<ModelOptions> {
        let (first, others) = arguments.models.models()?;
        let mut all = std::iter::once(first).chain(others);
        let options = all.find(|options| options.served_names.first().is_some_and(|name| name == label));
        let mut options = options.with_context(|| format!("its switches name no model {label:?}"))?;
        if let Some(model) = &self.model {
            options.model = Some(model.clone());
        }
        Ok(options)
    }
}

fn one_line_of(error: &clap::Error) -> anyhow::Error {
    let text = error.to_string();
    anyhow::anyhow!("its switches can't be used: {}", text.lines().next().unwrap_or_default())
}

/// Checks that a model is the recorded one, as far as tokens and text go.
fn check(model: &Model, recorded: &ModelLine) -> anyhow::Result<()> {
    let here = model.record_line();
    ensure!(
        here.tokenizer == recorded.tokenizer,
        "its model {:?} had another tokenizer (sha256 {}, here {}): --model names the right one",
        recorded.label,
        short(&recorded.tokenizer),
        short(&here.tokenizer)
    );
    Ok(())
}

fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

/// Replays a record as it was.
pub(super) async fn replay(
    models: &mut LoadedModels<'_>,
    arguments: &ReplayArguments,
    record: &Record,
) -> anyhow::Result<Replay> {
    let loaded = models.get(record, &Wanted { parser: None, generates: false })?;
    let playback = Playback::new(record);
    let request = read(&loaded, arguments.seal_key.as_deref(), record, &playback)?;
    let answer = begin(&loaded, record, request, playback).await?;
    Ok(answer.replay(delivery(record)).await?)
}

/// Reads a record's request again. Returns the seal of its answer, too.
pub(super) fn read(
    loaded: &LoadedModel,
    seal_key: Option<&Path>,
    record: &Record,
    playback: &Playback,
) -> anyhow::Result<(ApiRequest, Seal)> {
    let mut defaults = loaded.defaults.clone();
    if let Some(file) = seal_key {
        defaults.seal = Seal::from_file(file).context("--seal-key")?;
    }
    defaults.seal = defaults.seal.of(&record.head.owner());
    let read = api::recorded::read(&record.head, &defaults, playback.clock());
    let request = read.map_err(|error| anyhow::anyhow!("its request can't be read: {}", error.message))?;
    Ok((request, defaults.seal))
}

/// Begins the answer to a record's request.
pub(super) async fn begin(
    loaded: &LoadedModel,
    record: &Record,
    (request, seal): (ApiRequest, Seal),
    playback: Playback,
) -> anyhow::Result<Answer> {
    let head = &record.head;
    let (seed, protocol) = (IdSeed::from_hex(&head.id_seed), Protocol::named(&head.protocol));
    let (Some(seed), Some(protocol)) = (seed, protocol) else { bail!("its head has no seed or protocol") };
    let context = AnswerContext::played(seed, playback);
    let model = loaded.model.clone().for_answer(context.clone());
    let ApiRequest { job, hosted, compaction, machine, .. } = request;
    let begun = if head.prompt_only {
        AnswerStream::of_prompt(model, job).await
    } else {
        let refusal = Box::new(move |error: &_| protocol.refusal(error).into_failure());
        AnswerStream::begin(model, job, hosted, compaction, &loaded.limits.mcp, refusal).await
    };
    let stream = begun.map_err(|error| {
        if record.prompts.is_empty() && record.end.is_none() {
            anyhow::anyhow!("it was cut off before its first turn")
        } else {
            anyhow::anyhow!("its answer can't begin: {error}")
        }
    })?;
    let (metrics, id) = (Arc::clone(loaded.model.metrics()), head.request_id.clone());
    let answer = Answer::new(metrics, id, Instant::now(), stream, machine, None, &CancellationToken::new());
    Ok(answer.in_context(context, &seal))
}
