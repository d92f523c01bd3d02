//! Tools that the server runs, and tool servers that misbehave.

mod agents;
mod canary;
mod floods;
mod messages;
mod server_tools;
mod servers;
