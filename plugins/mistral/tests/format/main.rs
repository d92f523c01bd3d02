//! Tests of the format mistral.

mod any_cut;
mod fragments;
