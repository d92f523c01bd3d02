//! Tests of the Qwen3 format beyond the recorded turns (`cases/`): random streams, very long streams, many variants of one input.

mod any_cut;
mod custom;
mod descriptor;
mod faults;
mod turns;
