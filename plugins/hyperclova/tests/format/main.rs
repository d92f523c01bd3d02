//! Tests of the format hyperclova.

mod any_cut;
mod fragments;
