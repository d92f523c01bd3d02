//! Tests of the format response-template.

mod any_cut;
mod fragments;
mod patterns;
mod refused;
mod tables;
mod transformers;
