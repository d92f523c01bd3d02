//! Tests of the format kimi-k2.

mod any_cut;
mod cases;
mod descriptor;
mod fragments;
