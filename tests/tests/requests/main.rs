//! Requests: which are refused, what reading them may cost, which model answers them, what
//! constrains answers, how long they wait; and the answers of each protocol.

mod bad_requests;
mod base_model;
mod budgets;
mod constraints;
mod contents;
mod cost;
mod families;
mod histories;
mod hostile_grammars;
mod long_prompts;
mod models;
mod plain_calls;
mod protocols;
mod refusals;
mod refused_bodies;
mod replay;
mod token_counts;
mod trained;
mod typed_tools;
mod waiting;
