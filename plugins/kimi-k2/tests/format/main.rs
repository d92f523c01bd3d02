//! Tests of the format kimi-k2.

mod any_cut;
mod descriptor;
mod fragments;
