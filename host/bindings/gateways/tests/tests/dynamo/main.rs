//! The adapter of `dynamo-parsers-v2`.

mod cases;
mod faults;
mod lifecycle;
mod seen;
mod theirs;
