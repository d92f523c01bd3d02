//! `/v1/conversations` and stored chat completions over sockets.

mod bounds;
mod chat;
mod chat_faults;
mod hostile;
mod items;
mod kit;
mod owners;
mod table;
