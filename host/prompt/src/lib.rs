//! Prompts: from a conversation to token ids, and from token ids to text. Chat templates, segments,
//! tokenizer, incremental detokenizer.
//!
//! Invariant: a control token in a prompt was written by the chat template, never by a request.
//! While a template runs, each character knows who wrote it (crate `jinja`), so neither text of a
//! request, nor anything that a template makes of such text, can become one (`segments`). Called by
//! the server's start (loading) and by the model room (`ChatFormat::render` for each request, one
//! `Detokenizer` per stream).
#![doc = include_str!("../DESIGN.md")]

mod added;
mod authors;
mod budget;
mod content;
mod content_forms;
mod conversation;
mod detokenizer;
mod encode_prompt;
mod files;
mod generation_defaults;
mod history;
mod limits;
mod pieces;
mod render;
mod segments;
mod shorten;
mod template;
mod template_changes;
mod tiktoken;
mod token_bytes;
mod tokenizer;
mod tokenizer_check;
mod variables;

pub use added::AddedToken;
pub use authors::{Author, AuthorRun};
pub use budget::{PromptTooLong, TokenBudget};
pub use content::Content;
pub use conversation::{ChatMessage, Conversation, HistoryCall, Role, ToolDeclaration};
pub use detokenizer::Detokenizer;
pub use files::{ChatFiles, ChatFilesError, PROMPT_FILES, response_template};
pub use generation_defaults::GenerationDefaults;
pub use history::spell_history_call_ids;
pub use limits::PromptLimits;
pub use render::{CallingTurn, ChatFormat, Prompt, RenderError, TurnOpening};
pub use render::{EFFORTS, EffortPrompts, effort_arguments};
pub use shorten::{approximate_bytes, drop_oldest};
pub use tokenizer::{TOKENIZER_FILES, TokenizeError, Tokenizer};
pub use turn::spell_call_id;
