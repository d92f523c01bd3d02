//! Requests: which are refused, what reading them may cost, which model answers them, what constrains answers, and how long they wait.

mod bad_requests;
mod constraints;
mod contents;
mod cost;
mod families;
mod histories;
mod hostile_grammars;
mod models;
mod refusals;
mod refused_bodies;
mod replay;
mod token_counts;
mod trained;
mod waiting;
