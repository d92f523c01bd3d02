//! From a conversation to token ids and from token ids to text: chat templates, segments, tokenizer, incremental detokenizer.

mod conversation;

pub use conversation::{Conversation, HistoryCall, Message, Role, ToolDeclaration};
