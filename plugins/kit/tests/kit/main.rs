//! Tests of the test kit.

mod player;
mod steps;
mod streams;
mod written;
