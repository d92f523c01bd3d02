//! Tests of the format minimax-m2.

mod any_cut;
mod fragments;
