//! Tests of the format llama3.

mod any_cut;
mod fragments;
