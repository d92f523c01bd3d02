//! `/v1/conversations` over sockets.

mod bounds;
mod hostile;
mod items;
mod kit;
mod owners;
mod table;
