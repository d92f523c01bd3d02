//! Tests of the format qwen3-coder.

mod any_cut;
mod fragments;
