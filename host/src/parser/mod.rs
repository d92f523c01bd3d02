//! Output parsers: wasmtime lives here and nowhere else.

pub mod contract;
