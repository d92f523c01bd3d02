//! Tests of the format kimi-k3.

mod any_cut;
mod fragments;
