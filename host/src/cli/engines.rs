//! Switches for remote engines, which may be set per model (`per_model`).

use std::path::PathBuf;

use net::ServerKey;
use remote::EngineKind;
use remote::RemoteLimits;

use super::limits::Switches;
use super::per_model::{ForModel, PerModel, for_model};
use super::values::{parsed, text};

#[derive(clap::Args)]
pub(super) struct EngineArguments {
    /// Kind of the engines at the URLs: `auto` asks each engine, `openai` is any server of
    /// `/v1/completions` that takes token ids, `gateway` is one URL that is many engines, such as llm-d's
    /// router or Dynamo [default: auto].
    #[arg(long, value_name = "[NAME=]auto|openai|vllm|sglang|llamacpp|gateway", value_parser = for_model(kind))]
    engine_kind: Vec<ForModel<Option<EngineKind>>>,
    /// Whether the engines bound reasoning themselves: `vllm` sends budgets of reasoning as
    /// `thinking_token_budget`, which vLLM keeps where it was started with `--reasoning-config`
    /// [default: none: this server ends reasoning at its budget].
    #[arg(long, value_name = "[NAME=]none|vllm", value_parser = for_model(keeps_budgets))]
    engine_reasoning_budget: Vec<ForModel<bool>>,
    /// API key that is sent to the engines: an environment variable or a file that holds it.
    #[arg(long, value_name = "[NAME=]env:VARIABLE|file:PATH", value_parser = for_model(parsed::<ServerKey>))]
    engine_key: Vec<ForModel<ServerKey>>,
    /// PEM file of the only certificate authorities that the engines are trusted by [default: the
    /// system's].
    #[arg(long, value_name = "[NAME=]FILE", value_parser = for_model(text))]
    engine_ca: Vec<ForModel<String>>,
    #[command(flatten)]
    limits: Switches<RemoteLimits>,
}

/// Values of the switches, by model.
pub(super) struct PerModelEngines<'a> {
    kind: PerModel<'a, Option<EngineKind>>,
    keeps_budgets: PerModel<'a, bool>,
    key: PerModel<'a, ServerKey>,
    ca_file: PerModel<'a, String>,
}

impl EngineArguments {
    /// Bounds set by the switches.
    pub(super) fn limits(&self) -> RemoteLimits {
        self.limits.0.clone()
    }

    /// Resolves the switches for `models`.
    ///
    /// # Errors
    /// A setting names an unknown model, or is given twice for one model.
    pub(super) fn per_model(&self, models: &[Vec<String>]) -> anyhow::Result<PerModelEngines<'_>> {
        Ok(PerModelEngines {
            kind: PerModel::single("--engine-kind", &self.engine_kind, models)?,
            keeps_budgets: PerModel::single(
                "--engine-reasoning-budget",
                &self.engine_reasoning_budget,
                models,
            )?,
            key: PerModel::single("--engine-key", &self.engine_key, models)?,
            ca_file: PerModel::single("--engine-ca", &self.engine_ca, models)?,
        })
    }
}

impl PerModelEngines<'_> {
    pub(super) fn kind(&self, model: usize) -> Option<EngineKind> {
        self.kind.one(model).copied().flatten()
    }

    pub(super) fn keeps_budgets(&self, model: usize) -> bool {
        self.keeps_budgets.one(model).copied().unwrap_or(false)
    }

    pub(super) fn key(&self, model: usize) -> Option<ServerKey> {
        self.key.one(model).cloned()
    }

    pub(super) fn ca_file(&self, model: usize) -> Option<PathBuf> {
        self.ca_file.one(model).map(PathBuf::from)
    }
}

fn keeps_budgets(text: &str) -> Result<bool, String> {
    match text {
        "none" => Ok(false),
        "vllm" => Ok(true),
        _ => Err("expected `none` or `vllm`".to_owned()),
    }
}

fn kind(text: &str) -> Result<Option<EngineKind>, String> {
    if text == "auto" {
        return Ok(None);
    }
    EngineKind::of(text)
        .map(Some)
        .ok_or_else(|| "expected `auto`, `openai`, `vllm`, `sglang`, `llamacpp` or `gateway`".to_owned())
}
