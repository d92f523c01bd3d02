//! Tests of the format gemma4.

mod any_cut;
mod fragments;
