//! Tests of the format granite3.

mod any_cut;
mod fragments;
