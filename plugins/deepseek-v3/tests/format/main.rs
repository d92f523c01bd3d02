//! Tests of the format deepseek-v3.

mod any_cut;
mod descriptor;
mod fragments;
