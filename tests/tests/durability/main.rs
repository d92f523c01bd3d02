//! What the store's users see of it outlives whatever happens to the server's process and its disk: kill -9, a full disk, a read-only one. And what
//! is too old goes.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

mod clients;
mod disk;
mod kill;
mod upkeep;
