//! Compaction: the model writes a summary that takes the place of all that it and its tools said,
//! so that a long conversation fits into the context again. The users' messages and the
//! instructions stay as they are.
//!
//! `job` asks for the summary, `summary_turn` follows its turn, `conversation` puts it where the
//! messages were. An answer is a compaction alone, or compacts before it begins (`agent_loop`).
//! Knows no protocol: who keeps summaries, and in which form, is `api`'s part.

mod conversation;
mod job;
mod request;
mod summary_turn;

pub use conversation::compact;
pub(super) use conversation::{is_worth_it, keep};
pub use job::DEFAULT_PROMPT;
pub(crate) use job::summary_job;
pub use request::{Compaction, Occasion};
pub(super) use summary_turn::{Summary, SummaryTurn};
