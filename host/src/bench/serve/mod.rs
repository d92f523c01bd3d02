//! Measures a server.
