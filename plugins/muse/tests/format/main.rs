//! Tests of the format muse.

mod any_cut;
mod fragments;
