//! Tests of the format pythonic.

mod any_cut;
mod fragments;
