//! Tests of the format response-template.

mod any_cut;
mod cases;
mod fragments;
mod patterns;
mod refused;
mod tables;
mod transformers;
