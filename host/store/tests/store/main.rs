//! The store's tests: a suite that every store passes, random programs against a plain model, kill -9, failing disks, files.

#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod background;
mod bounds;
mod conversations;

mod kit;

mod responses;
