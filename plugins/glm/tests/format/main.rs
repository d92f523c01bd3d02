//! Tests of the format glm.

mod any_cut;
mod fragments;
