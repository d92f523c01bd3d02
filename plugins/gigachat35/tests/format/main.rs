//! Tests of the format gigachat35.

mod any_cut;
mod fragments;
