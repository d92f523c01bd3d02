//! Connections: who is answered, and clients that close half of one.

mod access;
mod half_close;
