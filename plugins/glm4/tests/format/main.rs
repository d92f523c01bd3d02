//! Tests of the format glm4.

mod any_cut;
mod fragments;
