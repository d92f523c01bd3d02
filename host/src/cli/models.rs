//! Switches for the served models; those that may be set per model take `[NAME=]VALUE`
//! (`per_model`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use engine::SpeculationOptions;
use model::{CallForm, EngineChoice, KvCacheBytes, ModelOptions, Pin, SharedOptions, default_name};
use remote::RemoteLimits;
use turn::{DraftCalls, FaultPolicy};

use super::cache;
use super::drafts::DraftArgument;
use super::engines::EngineArguments;
use super::load::LoadArguments;
use super::per_model::{ForModel, PerModel, for_model, pair_for_model};
use super::settings_file;
use super::values::{budget, call_form, fault_policy, key_value, number, parsed, speculation, text};

#[derive(clap::Args)]
pub(super) struct ModelArguments {
    /// Model: a directory in Hugging Face's layout, a GGUF file, or ORG/NAME of the Hugging Face hub,
    /// with :QUANT for a GGUF file there (repeatable) [default: the tiny test model inside the
    /// binary]. NAME is the model's name in requests: letters, digits, `-`, `_` and `.`. A path with
    /// a `=` in its name needs a slash before it (`./a=b`).
    #[arg(short, long, value_name = "[NAME=]DIR|FILE|ORG/NAME[:QUANT]", value_parser = for_model(text))]
    model: Vec<ForModel<String>>,
    /// Output parser: `auto` takes the parser that claims the model; otherwise a file, or a name in
    /// the plugins folder or among the shipped parsers; `none` treats all text as content [default:
    /// auto].
    #[arg(long, value_name = "[NAME=]auto|FILE|PARSER|none", value_parser = for_model(text))]
    parser: Vec<ForModel<String>>,
    /// Folder of parsers. A file that changes there is reloaded while the server runs.
    #[arg(long, value_name = "DIR", default_value = "plugins")]
    plugins: PathBuf,
    /// Setting that is passed to the parser (repeatable). With every parser,
    /// `calls-in-reasoning=at-once` lets a call inside reasoning count at once; without it the call
    /// waits until the reasoning or the turn ends, since it may be a draft.
    #[arg(long, value_name = "[NAME=]KEY=VALUE", value_parser = pair_for_model(key_value))]
    parser_option: Vec<ForModel<(String, String)>>,
    /// SHA-256 that the parser with this file or name must have (repeatable).
    #[arg(long, value_name = "[NAME=]PARSER=HEX", value_parser = pair_for_model(parsed::<Pin>))]
    parser_sha256: Vec<ForModel<Pin>>,
    /// Folder for compiled parsers, or `none` [default: sluice/parsers in the user's cache folder].
    #[arg(long, value_name = "DIR|none")]
    parser_cache: Option<PathBuf>,
    /// What happens when a model's parser fails: `continue` sends the rest as text, but fails the
    /// response inside a tool call; `continue-in-calls` sends the rest as text there, too, behind a
    /// call that is incomplete, and the response fails at its end; `fail` fails the response
    /// anywhere [default: continue].
    #[arg(long, value_name = "[NAME=]continue|continue-in-calls|fail", value_parser = for_model(fault_policy))]
    parser_fault: Vec<ForModel<FaultPolicy>>,
    /// Form of the calls of which a request demands nothing, on the local engine: `envelope` holds
    /// them to the names of declared tools and arguments that are a JSON object; `schema` to each
    /// tool's schema, too, as far as it can be followed; `free` lets the model write what it likes
    /// [default: envelope].
    #[arg(long, value_name = "[NAME=]free|envelope|schema", value_parser = for_model(call_form))]
    tool_calls: Vec<ForModel<CallForm>>,
    /// Most tokens of reasoning for requests of this effort that set no bound themselves, on the local
    /// engine (repeatable); `default` is for requests that name no effort, and for efforts that have
    /// no bound of their own here [default: none].
    #[arg(long, value_name = "[NAME=]EFFORT=TOKENS", value_parser = pair_for_model(budget))]
    reasoning_budget: Vec<ForModel<(String, u32)>>,
    #[command(flatten)]
    drafts: DraftArgument,
    /// Engine: `local` runs the model on this machine (`--device`); URLs are of vLLM, SGLang or
    /// llama.cpp servers; @FILE has such URLs, one a line, and is read again when it changes;
    /// `replay:FILE` plays scripted outputs [default: local].
    #[arg(long, value_name = "[NAME=]local|URL[,URL…]|@FILE|replay:FILE", value_parser = for_model(parsed::<EngineChoice>))]
    engine: Vec<ForModel<EngineChoice>>,
    #[command(flatten)]
    remote_engines: EngineArguments,
    #[command(flatten)]
    pub(super) load: LoadArguments,
    /// Share of `--kv-cache` for this model, in proportion to the shares of the others [default:
    /// 1].
    #[arg(long, value_name = "[NAME=]PARTS", value_parser = for_model(number::<u32>(1..=MAX_KV_PARTS)))]
    kv_share: Vec<ForModel<u32>>,
    /// Answers that are generated at a time; further ones wait [default: 64 on the CPU, at most
    /// 512; 256 on a GPU, which is its maximum].
    #[arg(long, value_name = "[NAME=]ANSWERS", value_parser = for_model(number::<usize>(1..=MAX_SEQUENCES)))]
    max_num_seqs: Vec<ForModel<usize>>,
    /// Compute every prompt from its first token, without reusing KV blocks of earlier prompts.
    #[arg(long)]
    no_enable_prefix_caching: bool,
    /// Speculative decoding: drafts are taken from the prompt and the answer so far; they save
    /// steps and never change a token. `auto` drafts at most 8 tokens, fewer where few are
    /// accepted; a number sets another maximum; `off` drafts none [default: auto].
    #[arg(long, value_name = "[NAME=]auto|off|TOKENS", value_parser = for_model(speculation))]
    speculation: Vec<ForModel<SpeculationOptions>>,
    /// Longest time that a request may be queued for the local engine before it is refused with 429.
    /// With a timeout the response's head is sent only when the answer begins [default: no limit
    /// while the client waits].
    #[arg(long, value_name = "[NAME=]SECONDS", value_parser = for_model(number::<u32>(1..=MAX_QUEUE_SECONDS)))]
    queue_timeout: Vec<ForModel<u32>>,
    /// Chat template that replaces the model's own.
    #[arg(long, value_name = "[NAME=]FILE", value_parser = for_model(text))]
    chat_template: Vec<ForModel<String>>,
    /// Name of the model in requests (repeatable) [default: the model's own name]. With a NAME in
    /// `--model` it is an additional name.
    #[arg(long, value_name = "[NAME=]ALIAS", value_parser = for_model(text))]
    served_model_name: Vec<ForModel<String>>,
}

/// Largest share of one model: finer than needed to divide memory.
const MAX_KV_PARTS: u64 = 1_000_000;
/// Largest number of answers at a time: as many as a step on the CPU has rows.
const MAX_SEQUENCES: u64 = 512;
/// Longest queue timeout, in seconds: a day.
const MAX_QUEUE_SECONDS: u64 = 86_400;

impl ModelArguments {
    /// The models as given, without their names.
    pub(super) fn given(&self) -> impl ExactSizeIterator<Item = &str> {
        self.model.iter().map(|given| given.value.as_str())
    }

    /// Leaves out a model that is named by the NAME of another: the latter was chosen.
    pub(super) fn choose_by_name(&mut self) {
        let names: Vec<String> = self.model.iter().filter_map(|given| given.model.clone()).collect();
        self.model.retain(|given| given.model.is_some() || !names.contains(&given.value));
    }

    /// Folder of parsers.
    pub(super) fn plugins(&self) -> &Path {
        &self.plugins
    }

    /// Folder for compiled parsers; `None` if they aren't cached.
    pub(super) fn parser_cache(&self) -> Option<PathBuf> {
        cache::folder(self.parser_cache.as_deref(), "parsers")
    }

    /// Options that all models share. `principals` is the number of owners of API keys.
    pub(super) fn shared(&self, principals: usize) -> SharedOptions {
        SharedOptions {
            parser_cache: self.parser_cache(),
            draft_contracts: self.drafts.allowed(),
            threads: self.load.threads(),
            kernel_cache: self.load.kernel_cache(),
            deterministic: self.load.deterministic,
            principals,
        }
    }

    /// Bounds of remote engines.
    pub(super) fn remote_limits(&self) -> RemoteLimits {
        self.remote_engines.limits()
    }

    /// Options of the first model, and of the others.
    ///
    /// # Errors
    /// A setting names an unknown model, or is given twice for one model; a chat template can't be
    /// read.
    pub(super) fn models(&self) -> anyhow::Result<(ModelOptions, Vec<ModelOptions>)> {
        self.load.load_cuda_libraries()?;
        let names = self.names()?;
        let parser = PerModel::single("--parser", &self.parser, &names)?;
        let parser_options = PerModel::list("--parser-option", &self.parser_option, &names)?;
        let pins = PerModel::list("--parser-sha256", &self.parser_sha256, &names)?;
        let faults = PerModel::single("--parser-fault", &self.parser_fault, &names)?;
        let call_forms = PerModel::single("--tool-calls", &self.tool_calls, &names)?;
        let budgets = PerModel::list("--reasoning-budget", &self.reasoning_budget, &names)?;
        let engine = PerModel::single("--engine", &self.engine, &names)?;
        let remote = self.remote_engines.per_model(&names)?;
        let load = self.load.per_model(&names)?;
        let speculation = PerModel::single("--speculation", &self.speculation, &names)?;
        let queue_timeout = PerModel::single("--queue-timeout", &self.queue_timeout, &names)?;
        let sequences = PerModel::single("--max-num-seqs", &self.max_num_seqs, &names)?;
        let template = PerModel::single("--chat-template", &self.chat_template, &names)?;
        let engines: Vec<EngineChoice> =
            (0..names.len()).map(|model| engine.one(model).cloned().unwrap_or(EngineChoice::Local)).collect();
        let caches = self.kv_caches(&names, &engines, self.load.kv_cache_bytes())?;
        let most = self.kv_caches(&names, &engines, self.load.kv_cache_most())?;
        let options = |model: usize| {
            let parser_options: Vec<_> = parser_options.all(model).cloned().collect();
            DraftCalls::of(&parser_options).map_err(|error| anyhow!("--parser-option {error}"))?;
            Ok(ModelOptions {
                model: self.model.get(model).map(|given| given.value.clone()),
                parser: parser.one(model).cloned(),
                plugins: self.plugins.clone(),
                parser_options,
                parser_pins: pins.all(model).cloned().collect(),
                fault_policy: faults.one(model).copied().unwrap_or_default(),
                call_form: call_forms.one(model).copied().unwrap_or(CallForm::Envelope),
                reasoning_budgets: budgets.all(model).cloned().collect(),
                engine: engines[model].clone(),
                engine_kind: remote.kind(model),
                engine_keeps_budgets: remote.keeps_budgets(model),
                engine_key: remote.key(model),
                engine_ca: remote.ca_file(model),
                load_format: load.load_format(model),
                device: load.device(model),
                kv_cache_bytes: KvCacheBytes {
                    cpu_most: most[model],
                    ..self.load.kv_cache_of(caches[model])
                },
                numerics: load.numerics(model),
                prefix_cache: !self.no_enable_prefix_caching,
                speculation: speculation.one(model).copied().unwrap_or_default(),
                queue_timeout: queue_timeout.one(model).map(|seconds| Duration::from_secs((*seconds).into())),
                sequences: sequences.one(model).copied(),
                context: load.context(model),
                chat_template: template
                    .one(model)
                    .map(|file| settings_file::read("--chat-template", Path::new(file)))
                    .transpose()?,
                served_names: names[model].clone(),
            })
        };
        let mut models = (0..names.len()).map(options).collect::<anyhow::Result<Vec<_>>>()?;
        let first = models.remove(0);
        Ok((first, models))
    }

    /// Names of each model, at least one each.
    fn names(&self) -> anyhow::Result<Vec<Vec<String>>> {
        let own = |given: &ForModel<String>| match &given.model {
            Some(name) => Ok(vec![name.clone()]),
            None => Ok(vec![default_name(Some(&given.value))?]),
        };
        let mut own_names = self.model.iter().map(own).collect::<anyhow::Result<Vec<_>>>()?;
        if own_names.is_empty() {
            own_names.push(vec![default_name(None)?]);
        }
        let aliases = PerModel::list("--served-model-name", &self.served_model_name, &own_names)?;
        let with_aliases = |(model, own): (usize, &Vec<String>)| {
            let is_given = self.model.get(model).is_some_and(|given| given.model.is_some());
            let mut all = if is_given { own.clone() } else { Vec::new() };
            all.extend(aliases.all(model).cloned());
            if all.is_empty() { own.clone() } else { all }
        };
        Ok(own_names.iter().enumerate().map(with_aliases).collect())
    }

    /// Each model's part of `bytes` for KV caches, by its share. Replay files and remote engines
    /// need none.
    fn kv_caches(
        &self,
        names: &[Vec<String>],
        engines: &[EngineChoice],
        bytes: usize,
    ) -> anyhow::Result<Vec<usize>> {
        let shares = PerModel::single("--kv-share", &self.kv_share, names)?;
        let parts: Vec<u32> = engines
            .iter()
            .enumerate()
            .map(|(model, engine)| match engine {
                EngineChoice::Local => shares.one(model).copied().unwrap_or(1),
                EngineChoice::None | EngineChoice::Replay(_) | EngineChoice::Remote(_) => 0,
            })
            .collect();
        Ok(divide(bytes, &parts))
    }
}

/// Divides `bytes` in proportion to `parts`.
fn divide(bytes: usize, parts: &[u32]) -> Vec<usize> {
    let all: u128 = parts.iter().map(|part| u128::from(*part)).sum();
    let share = |part: &u32| bytes as u128 * u128::from(*part) / all.max(1);
    parts.iter().map(|part| usize::try_from(share(part)).expect("a share is no more than all")).collect()
}

#[cfg(test)]
mod tests {
    use super::divide;

    #[test]
    fn memory_is_divided_by_parts_and_never_exceeded() {
        assert_eq!(divide(100, &[1]), [100]);
        assert_eq!(divide(100, &[1, 1, 1]), [33, 33, 33]);
        assert_eq!(divide(100, &[3, 0, 1]), [75, 0, 25]);
        assert_eq!(divide(100, &[0, 0]), [0, 0]);
        assert_eq!(divide(usize::MAX, &[u32::MAX]), [usize::MAX]);
    }
}
