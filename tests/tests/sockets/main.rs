//! WebSocket mode of `/v1/responses`.

mod draining;
mod engine;
mod events;
mod hostile;
mod lanes;
mod memory;
mod stored;
mod upgrade;
