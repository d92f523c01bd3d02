//! What the server asks of its system beside sockets: CPU clocks, files within a bound, files that
//! only this user can have written, machine code among them, permissions, signals to other
//! processes, forks, caught panics, random ids, an answer's clock, metrics, and the program's name.
#![doc = include_str!("../DESIGN.md")]

pub mod bounded;
mod clock;
pub mod code_cache;
mod cpu_budget;
pub mod cpu_clock;
pub mod forks;
pub mod id_seed;
pub mod metric;
pub mod panics;
pub mod permission;
pub mod private;
pub mod program;
pub mod random;
pub mod signal;

pub use clock::Clock;
pub use cpu_budget::CpuBudget;
pub use id_seed::IdSeed;
