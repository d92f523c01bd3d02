//! Parsers in a server: hostile ones, healthy ones beside hostile ones, those that are swapped, and
//! those of a draft of the contract.

mod aligned;
mod asked;
mod drafts;
mod flat_memory;
mod hostile;
mod neighbours;
mod swap;
