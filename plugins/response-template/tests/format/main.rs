//! Tests of the format response-template.

mod any_cut;
mod cases;
mod refused;
mod tables;
mod transformers;
