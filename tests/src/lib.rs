//! What the end-to-end tests share: a real server in this process, a plain client, hostile guests, scripted outputs.

pub mod client;
pub mod guests;
pub mod mask;
pub mod server;
pub mod transcripts;
