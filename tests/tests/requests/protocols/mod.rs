//! Answers of each protocol over real sockets: events, fields, choices, lengths.

mod answers;
mod chat;
mod compaction;
mod context_edits;
mod evaluation;
mod field_faults;
mod forbidden_calls;
mod long_streams;
mod malformed_arguments;
mod many_answers;
mod messages;
mod responses;
mod streams;
