//! Facts about one remote engine, as found by a probe.

use std::sync::Arc;

use serde_json::Value;

use super::kind::EngineKind;
use super::routing::Behind;
use super::schema::SchemaCompiler;

/// Protocol and abilities of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Facts {
    /// Protocol that the engine speaks.
    pub(super) kind: EngineKind,
    /// Whether the engine is another server of this project.
    pub(super) is_sluice: bool,
    /// Engine and version, for people: `vLLM 0.32.0`.
    pub(super) name: Arc<str>,
    /// The engine's name for the model.
    pub(super) model: String,
    /// Maximum number of tokens of prompt and answer together, if the engine reports it.
    pub(super) context: Option<usize>,
    /// Whether the engine sends token ids; if not, its text is tokenised here.
    pub(super) tells_ids: bool,
    /// Whether the engine follows grammars in llguidance's dialect, in which tokens are named by
    /// id.
    pub(super) follows_grammars: bool,
    /// Whether the engine follows JSON schemas.
    pub(super) follows_schemas: bool,
    /// Whether the same seed gives the same tokens.
    pub(super) follows_seeds: bool,
    /// Whether the engine can leave reasoning free and apply a schema to the text after it.
    pub(super) follows_schemas_after_reasoning: bool,
    /// Factor for a request's priority: 1 if the engine serves the lowest number first as this
    /// server does, -1 if the highest, 0 if it has no priorities.
    pub(super) priority_sign: i32,
    /// Whether the engine's log-probabilities are computed before temperature is applied.
    pub(super) has_raw_logprobs: bool,
    /// How the engine is watched; none for a gateway, whose answers tell only of the engine that
    /// gave them.
    pub(super) watch: Option<Watch>,
}

/// How one engine's health and load are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Watch {
    /// Path of the health check.
    pub(super) health: &'static str,
    /// Names of the engine's load gauges; none if it reports no load.
    pub(super) gauges: Option<&'static GaugeNames>,
    /// Number of requests that the engine runs at a time, if it says so.
    pub(super) slots: Option<u32>,
}

/// Names of an engine's gauges in Prometheus' text format; `*NAME` is NAME behind any prefix.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GaugeNames {
    /// Number of running requests.
    pub(super) running: &'static str,
    /// Number of queued requests.
    pub(super) waiting: &'static str,
    /// Used share of the KV cache, 0 to 1.
    pub(super) kv_used: Option<&'static str>,
}

impl GaugeNames {
    /// The prefix is the other server's choice.
    pub(super) const SLUICE: Self = Self {
        running: "*num_requests_running",
        waiting: "*num_requests_waiting",
        kv_used: Some("*kv_cache_usage_perc"),
    };
    pub(super) const VLLM: Self = Self {
        running: "vllm:num_requests_running",
        waiting: "vllm:num_requests_waiting",
        kv_used: Some("vllm:kv_cache_usage_perc"),
    };
    pub(super) const SGLANG: Self = Self {
        running: "sglang:num_running_reqs",
        waiting: "sglang:num_queue_reqs",
        kv_used: Some("sglang:token_usage"),
    };
    pub(super) const LLAMA_CPP: Self = Self {
        running: "llamacpp:requests_processing",
        waiting: "llamacpp:requests_deferred",
        kv_used: None,
    };
}

impl Facts {
    /// Compiler that makes the engine's masks of a JSON schema. An engine that follows grammars in
    /// llguidance's dialect has llguidance; for any other vLLM or SGLang the default is assumed,
    /// which follows the least.
    pub(super) fn schema_compiler(&self) -> SchemaCompiler {
        match self.kind {
            EngineKind::LlamaCpp => SchemaCompiler::LlamaCpp,
            // It refuses what its own engine can't follow.
            EngineKind::OpenAi | EngineKind::Gateway if self.is_sluice => SchemaCompiler::Llguidance,
            _ if self.follows_grammars => SchemaCompiler::Llguidance,
            EngineKind::OpenAi | EngineKind::Vllm | EngineKind::Sglang | EngineKind::Gateway => {
                SchemaCompiler::Xgrammar
            }
        }
    }

    /// What is behind the URL, for the router.
    pub(super) fn behind(&self) -> Behind {
        self.watch.as_ref().map_or(Behind::Many, |watch| Behind::One(watch.slots))
    }

    /// What the engine can't do, for people; empty if it can do everything.
    pub(super) fn shortcomings(&self) -> Vec<&'static str> {
        [
            (self.tells_ids, "it tells no token ids: its text is tokenised here, and special tokens are known by their text"),
            (self.follows_grammars, "it follows no grammars with tokens: forced tool calls are refused"),
            (self.follows_schemas, "it follows no JSON schemas"),
            (self.follows_schemas_after_reasoning, "JSON schemas behind reasoning that the template has opened are refused"),
            (self.follows_seeds, "seeds don't make its answers repeatable"),
            (self.priority_sign != 0, "it has no priorities"),
            (self.has_raw_logprobs, "log-probabilities are refused at temperatures other than 0 and 1"),
        ]
        .into_iter()
        .filter_map(|(can, words)| (!can).then_some(words))
        .collect()
    }

    /// Takes what SGLang reports about itself.
    pub(super) fn take_sglang(&mut self, server: &Value, model: &Value) {
        self.name = named("SGLang", &server["version"]);
        self.follows_schemas = server["grammar_backend"] != "none";
        self.follows_grammars = server["grammar_backend"] == "llguidance";
        self.follows_schemas_after_reasoning = model["reasoning_parser"].is_string();
        self.follows_seeds = server["enable_deterministic_inference"] == true;
        self.has_raw_logprobs = false;
        self.priority_sign =
            match (&server["enable_priority_scheduling"], &server["schedule_low_priority_values_first"]) {
                (Value::Bool(true), Value::Bool(true)) => 1,
                (Value::Bool(true), _) => -1,
                _ => 0,
            };
    }

    /// Takes what llama.cpp reports about itself.
    pub(super) fn take_llamacpp(&mut self, props: &Value) {
        self.name = match props["build_info"].as_str() {
            // A build from sources without their history doesn't know its number.
            Some("b0-unknown") | None => "llama.cpp".into(),
            Some(_) => named("llama.cpp", &props["build_info"]),
        };
        let context = props["default_generation_settings"]["n_ctx"].as_u64();
        self.context = context.and_then(|context| usize::try_from(context).ok());
        let slots = props["total_slots"].as_u64().and_then(|slots| u32::try_from(slots).ok());
        self.watch = self.watch.take().map(|watch| Watch { slots, ..watch });
        self.follows_schemas = true;
    }
}

/// Name of an engine for people, with its version if that is one.
pub(super) fn named(engine: &str, version: &Value) -> Arc<str> {
    let version = version.as_str().filter(|version| super::words::is_version(version));
    version.map_or(engine.to_owned(), |version| format!("{engine} {version}")).into()
}
