//! Parsers behind a server: hostile ones, their neighbours, and those that are swapped.

mod hostile;
mod neighbours;
mod swap;
