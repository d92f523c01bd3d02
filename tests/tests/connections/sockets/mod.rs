//! WebSocket mode of `/v1/responses`.

mod draining;
mod end_reasoning;
mod engine;
mod events;
mod hostile;
mod lanes;
mod memory;
mod steer;
mod stored;
mod upgrade;

pub(crate) use engine::Scripted;
