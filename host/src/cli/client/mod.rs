//! Client of the Responses API, for the commands that ask a model: which server, the request, its
//! streamed answer, and how a terminal shows it. `run` and `chat` ask; `launch` leaves that to an
//! agent and takes the server alone.

mod answer;
mod ask;
mod events;
mod fields;
mod figures;
mod markdown;
mod repetition;
mod screen;
mod target;

pub(super) use answer::Finished;
pub(super) use ask::{AskArguments, Asked, INTERRUPTED, Interrupts, REPEATS, ask};
pub(super) use events::Ending;
pub(super) use fields::{field, json_file, set};
pub(super) use figures::Figures;
pub(super) use screen::{Screen, shown};
pub(super) use target::{KEY_VARIABLE, ModelServer, TargetArguments};
