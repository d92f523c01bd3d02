//! Tests of the format response-template.

mod any_cut;
mod cases;
mod fragments;
mod refused;
mod tables;
mod transformers;
