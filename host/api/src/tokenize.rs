//! `/tokenize`, `/detokenize` and `/tokenizer_info` in vLLM's shapes: the token ids of a text, or
//! of a conversation as its template renders it; the text of ids; and what a client needs that
//! renders prompts itself. As in `/v1/completions`, control tokens in the text of a `prompt` are
//! encoded as control tokens; in messages they never are.

use schemars::JsonSchema;
use serde::Serialize;

use super::completions::fields::ADD_SPECIAL_TOKENS;
use super::error::ApiError;
use super::fields::{self, Row, Shape, Tables, table};
use super::json::{Field, JsonObject, List, Required, Value};
use super::query::Query;
use super::request::Defaults;
use super::warnings::Warnings;
use super::{chat, completions};
use grammar::{Demand, ToolChoice};
use model::{Beginning, Job, Tokenized, TokenizerInfo};

pub(crate) const MODEL: Field<&str> =
    Field::new("model", "a name of `GET /v1/models`; may be left out where one model is served");

table! {
    pub(crate) TOKENIZE {
        PROMPT: Field<Value<'_>> =
            Field::new("prompt", "what to tokenise; or `messages`").of(Shape::Either(&[Shape::Text, fields::TOKENS]));
        MESSAGES: Field<List<'_>> =
            Field::new("messages", "a conversation, with the fields of a chat request (`tools`, `chat_template_kwargs`, …)")
                .of(Shape::List(&fields::ANY_OBJECT));
        ADD_SPECIAL_TOKENS;
        MODEL;
        TEXTS: Field<bool> = Field::new("return_token_strs", "adds the text of each token");
    }
}

/// Fields of `/detokenize`.
pub(crate) const DETOKENIZE_TABLES: Tables = &[&[TOKENS_FIELD.row(), MODEL.row()]];

const TOKENS_FIELD: Required<List<'_>> =
    Field::new("tokens", "").of(fields::TOKENS).required_as("a list of token ids");

/// A request to `/tokenize`.
#[derive(Debug)]
pub struct TokenizeRequest {
    /// The job whose prompt is tokenised; it isn't started.
    pub job: Job,
    /// Whether the answer has the text of each token.
    pub texts: bool,
}

/// A request to `/detokenize`.
#[derive(Debug, PartialEq, Eq)]
pub struct DetokenizeRequest {
    /// The token ids.
    pub tokens: Vec<u32>,
}

#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Tokenized")]
pub(crate) struct Spelling<'a> {
    count: usize,
    max_model_len: usize,
    tokens: &'a [u32],
    token_strs: Option<&'a [String]>,
}

#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Detokenized")]
pub(crate) struct Text<'a> {
    prompt: &'a str,
}

#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "TokenizerInfo")]
pub(crate) struct Info<'a> {
    bos_token: Option<&'a str>,
    eos_token: Option<&'a str>,
    pad_token: Option<&'a str>,
    unk_token: Option<&'a str>,
    chat_template: &'a str,
    model_max_length: usize,
}

/// Reads a body of `/tokenize`: `prompt`, or `messages` with any fields of a chat request.
pub fn tokenize(body: &JsonObject<'_>, defaults: &Defaults) -> Result<TokenizeRequest, ApiError> {
    let job = match (body.value(MESSAGES), body.value(PROMPT)) {
        (Some(_), Some(_)) => return Err(body.at(PROMPT).invalid("expected either prompt or messages")),
        (Some(_), None) => chat::job(body, defaults, &mut Warnings::of_fields(body, chat::fields::TABLES)?)?,
        (None, _) => raw(body, defaults)?,
    };
    let texts = body.get(TEXTS)?.unwrap_or(false);
    Ok(TokenizeRequest { job, texts })
}

fn raw(body: &JsonObject<'_>, defaults: &Defaults) -> Result<Job, ApiError> {
    let beginning = Beginning::Raw(completions::prompts(body, 1, defaults)?);
    let demand = Demand { tool_choice: ToolChoice::None, parallel_tool_calls: true, ..Demand::default() };
    Ok(Job { beginning, demand, ..Job::default() })
}

/// Reads a body of `/detokenize`.
pub fn detokenize(body: &JsonObject<'_>, defaults: &Defaults) -> Result<DetokenizeRequest, ApiError> {
    Ok(DetokenizeRequest { tokens: defaults.check_tokens(body.require(TOKENS_FIELD)?)? })
}

/// The model that the query of `/tokenizer_info` names.
pub fn model_of(query: &Query) -> Option<&str> {
    query.get(MODEL)
}

/// The answer to `/tokenize`.
pub fn tokens(tokenized: &Tokenized) -> impl Serialize + '_ {
    let Tokenized { ids, texts, context } = tokenized;
    Spelling { count: ids.len(), max_model_len: *context, tokens: ids, token_strs: texts.as_deref() }
}

/// The answer to `/detokenize`.
pub fn text(prompt: &str) -> impl Serialize + '_ {
    Text { prompt }
}

/// The answer to `/tokenizer_info`.
pub fn info<'a>(info: &TokenizerInfo<'a>) -> impl Serialize + use<'a> {
    let TokenizerInfo { chat, context } = *info;
    let token = |name: &str| {
        let token = chat.special_tokens.iter().find(|(named, _)| named == name)?;
        Some(token.1.as_str())
    };
    Info {
        bos_token: token("bos_token"),
        eos_token: token("eos_token"),
        pad_token: token("pad_token"),
        unk_token: token("unk_token"),
        chat_template: &chat.template,
        model_max_length: context,
    }
}
