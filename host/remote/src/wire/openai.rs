//! `/v1/completions` with a prompt of token ids, in vLLM's form
//! (`vllm/entrypoints/openai/completion/protocol.py`, 0.32).

use engine::{Logprobs, Token};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::vllm_params::{self, SamplingFields};
use super::{Chunk, TokenSource, Unsupported, Wire, WireFault, WireReader};
use crate::facts::Facts;
use crate::identity;
use crate::request::RemoteRequest;

pub(super) struct OpenAi;

#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the format has them")]
struct OpenAiBody<'a> {
    model: &'a str,
    prompt: &'a [u32],
    n: u32,
    echo: bool,
    stream: bool,
    stream_options: StreamOptions,
    return_token_ids: bool,
    return_tokens_as_token_ids: bool,
    add_special_tokens: bool,
    cache_salt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "is_usual")]
    priority: i32,
    #[serde(flatten)]
    sampling: SamplingFields<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct StreamOptions {
    pub(super) include_usage: bool,
}

/// Whether the priority is 0, the value that an engine without priorities takes.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(super) fn is_usual(priority: &i32) -> bool {
    *priority == 0
}

/// Salt of the prefix cache as vLLM takes it: any text that isn't empty.
pub(super) fn salt(request: &RemoteRequest) -> String {
    format!("{:016x}", request.cache_salt)
}

impl Wire for OpenAi {
    fn path(&self) -> &'static str {
        "v1/completions"
    }

    fn check(&self, request: &RemoteRequest, facts: &Facts) -> Result<(), Unsupported> {
        if !facts.tells_ids {
            Unsupported::check_scores(request)?;
        }
        vllm_params::check(request, facts)
    }

    fn body(&self, request: &RemoteRequest, facts: &Facts, _: &str) -> Vec<u8> {
        super::to_json(&OpenAiBody {
            model: &facts.model,
            prompt: &request.prompt,
            n: 1,
            echo: request.prompt_logprobs.is_some(),
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            return_token_ids: true,
            return_tokens_as_token_ids: true,
            add_special_tokens: false,
            cache_salt: salt(request),
            session_id: identity::session_field(facts, request),
            priority: request.priority,
            sampling: SamplingFields::new(request, facts),
        })
    }

    fn reader(&self, scored_prompt: &[u32]) -> Box<dyn WireReader> {
        Box::new(OpenAiReader { prompt: scored_prompt.into(), read: 0 })
    }
}

struct OpenAiReader {
    /// The prompt, if its log-probabilities come before the answer's.
    prompt: Box<[u32]>,
    /// Number of the prompt's tokens whose log-probabilities have come.
    read: usize,
}

#[derive(Deserialize)]
struct OpenAiChoice {
    #[serde(default)]
    text: String,
    token_ids: Option<Vec<u32>>,
    logprobs: Option<CompletionLogprobs>,
    finish_reason: Option<String>,
    stop_reason: Option<Value>,
}

/// Log-probabilities of a choice. Tokens are written as `token_id:N`.
#[derive(Deserialize)]
struct CompletionLogprobs {
    #[serde(default)]
    tokens: Vec<String>,
    token_logprobs: Vec<Option<f32>>,
    #[serde(default)]
    top_logprobs: Option<Vec<Option<serde_json::Map<String, Value>>>>,
}

impl WireReader for OpenAiReader {
    fn read(&mut self, data: &[u8], chunk: &mut Chunk) -> Result<(), WireFault> {
        vllm_params::choices(data, chunk, |choice: OpenAiChoice, chunk| choice.add_to(self, chunk))?;
        // The engine's own count says more than the tokens only where these are read from text.
        chunk.generated = chunk.generated.filter(|_| chunk.source == TokenSource::Text);
        Ok(())
    }
}

impl OpenAiReader {
    /// Takes the entries of the prompt's tokens, of which the first says nothing, and returns those
    /// behind them.
    fn take_prompt(&mut self, mut all: CompletionLogprobs, chunk: &mut Chunk) -> CompletionLogprobs {
        let ids = &self.prompt[self.read..];
        let count = ids.len().min(all.token_logprobs.len());
        let told = ids[..count].iter().enumerate();
        let token = |(at, id): (usize, &u32)| Token { id: *id, logprobs: all.at(at).map(Box::new) };
        chunk.prompt_tokens.extend(told.skip(usize::from(self.read == 0)).map(token));
        self.read += count;
        all.cut(count);
        all
    }
}

impl OpenAiChoice {
    fn add_to(mut self, reader: &mut OpenAiReader, chunk: &mut Chunk) -> Result<(), WireFault> {
        if !reader.prompt.is_empty() {
            // The prompt's text comes before the answer's, so only ids tell them apart.
            self.text.clear();
            self.logprobs = self.logprobs.map(|all| reader.take_prompt(all, chunk));
        }
        let ids = self.token_ids.as_deref();
        let logprobs = self.logprobs.as_ref().map(|all| all.of(ids.unwrap_or_default())).unwrap_or_default();
        chunk.push(ids, &self.text, logprobs.into_iter())?;
        chunk.end_as(vllm_params::end(self.finish_reason.as_deref(), self.stop_reason.as_ref()));
        Ok(())
    }
}

impl CompletionLogprobs {
    /// Removes the first `count` entries.
    fn cut(&mut self, count: usize) {
        self.token_logprobs.drain(..count);
        self.tokens.drain(..count.min(self.tokens.len()));
        if let Some(all) = &mut self.top_logprobs {
            all.drain(..count.min(all.len()));
        }
    }

    /// Log-probabilities of the tokens `ids`: of each the next entry with its id, or the entry at
    /// its place where entries name no ids.
    fn of(&self, ids: &[u32]) -> Vec<Option<Box<Logprobs>>> {
        let mut next = 0;
        let entry = |(place, id): (usize, &u32)| {
            let named = self.tokens.get(next).and_then(|name| token_id(name));
            match named {
                Some(named) if named != *id => return None,
                Some(_) => next += 1,
                None => {}
            }
            let at = if named.is_some() { next - 1 } else { place };
            self.at(at).map(Box::new)
        };
        ids.iter().enumerate().map(entry).collect()
    }

    /// Log-probabilities of the entry `at`: as many alternatives as were requested. The engine adds
    /// the chosen token if it is not among them.
    fn at(&self, at: usize) -> Option<Logprobs> {
        let chosen = (*self.token_logprobs.get(at)?)?;
        let all = self.top_logprobs.as_ref().and_then(|all| all.get(at)?.as_ref());
        let read = |(token, logprob): (&String, &Value)| {
            #[expect(clippy::cast_possible_truncation, reason = "log-probabilities are f32 in the engine")]
            let logprob = logprob.as_f64()? as f32;
            Some((token_id(token)?, logprob))
        };
        Some(Logprobs { chosen, top: all.into_iter().flatten().filter_map(read).collect() })
    }
}

/// Id of a token that is named `token_id:N`.
fn token_id(name: &str) -> Option<u32> {
    name.strip_prefix("token_id:")?.parse().ok()
}
