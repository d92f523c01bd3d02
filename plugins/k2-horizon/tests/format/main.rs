//! Tests of the format k2-horizon.

mod any_cut;
mod fragments;
