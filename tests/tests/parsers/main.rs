//! Parsers in a server: hostile ones, healthy ones beside hostile ones, those that are swapped, and those of a draft of the contract.

mod asked;
mod drafts;
mod hostile;
mod neighbours;
mod swap;
