//! Requests that are refused, and what reading them may cost.

mod bad_requests;
mod constraints;
mod cost;
mod families;
mod models;
mod refusals;
mod refused_bodies;
mod trained;
mod waiting;
