//! Connections: access control, their maximum number, and clients that half-close one.

mod access;
mod capacity;
mod half_close;
mod hostile;
