//! Connections: who is answered, how many there may be, and clients that close half of one.

mod access;
mod capacity;
mod half_close;
