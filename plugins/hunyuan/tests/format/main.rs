//! Tests of the format hunyuan.

mod any_cut;
mod fragments;
