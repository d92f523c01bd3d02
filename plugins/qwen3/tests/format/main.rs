//! Tests of the Qwen3 format (the recorded turns in `cases/` and more): random streams, very long
//! streams, many variants of one input.

mod any_cut;
mod custom;
mod descriptor;
mod faults;
mod fragments;
mod turns;
