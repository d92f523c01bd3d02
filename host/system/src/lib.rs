//! What the server asks of its system beside files and sockets: CPU clocks, files that only this
//! user can have written, machine code among them, permissions, signals to other processes, and random ids.
#![doc = include_str!("../DESIGN.md")]

pub mod code_cache;
pub mod cpu_clock;
pub mod permission;
pub mod private;
pub mod random;
pub mod signal;
