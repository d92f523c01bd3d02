//! What the server asks of its system beside files and sockets: CPU clocks, files that only this user can have written, and random ids.

pub mod cpu_clock;
pub mod private;
pub mod random;
