//! Connections: access control, their maximum number, clients that half-close one or leave,
//! `WebSocket` mode, and the server's drain.

mod access;
mod capacity;
mod draining;
mod half_close;
mod hostile;
mod idle;
mod leaving;
mod page;
mod sockets;
