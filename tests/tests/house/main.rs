//! The shape of the house: what may depend on what, read from the sources.

mod circles;
mod duplicates;
mod graph;
mod modules;
mod names;
mod style;
mod tokens;
