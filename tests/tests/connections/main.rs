//! Connections: access control, their maximum number, clients that half-close one or leave,
//! names of events, `WebSocket` mode, and the server's drain.

mod access;
mod capacity;
mod draining;
mod event_names;
mod half_close;
mod hostile;
mod idle;
mod leaving;
mod page;
mod sockets;
mod tls;
