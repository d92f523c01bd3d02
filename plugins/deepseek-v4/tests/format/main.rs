//! Tests of the format deepseek-v4.

mod any_cut;
mod fragments;
