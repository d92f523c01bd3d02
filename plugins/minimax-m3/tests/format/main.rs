//! Tests of the format minimax-m3.

mod any_cut;
mod fragments;
