//! Parsers in a server: hostile ones, healthy ones beside hostile ones, and those that are swapped.

mod asked;
mod hostile;
mod neighbours;
mod swap;
