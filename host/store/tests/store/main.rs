//! The store's tests: a suite that every store passes, random programs against a plain model, kill
//! -9, failing disks, files.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

mod background;
mod between;
mod bounds;
mod clock;
mod completions;
mod conversations;
mod disk;
mod files;
mod hosts;
mod kill;

mod kit;
mod model;
mod owners;
mod paid;
mod pieces;
mod postgres;
mod property;
mod repeats;

mod responses;
mod threads;
