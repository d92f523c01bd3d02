//! Tests of each kind of engine: request bodies and events.

mod bodies;
mod events;
