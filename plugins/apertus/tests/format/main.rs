//! Tests of the format apertus.

mod any_cut;
mod fragments;
