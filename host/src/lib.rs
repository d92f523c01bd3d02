//! Sluice's server as a library; the binary `host` is a thin command line over it.

pub mod api;
pub mod limits;
pub mod model;
pub mod parser;
pub mod prompt;
pub mod turn;
