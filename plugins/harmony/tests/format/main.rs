//! Tests of the format harmony.

mod any_cut;
mod fragments;
