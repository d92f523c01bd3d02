//! The binary, as a shell and an operator use it.

#[path = "../../../tests/src/guests.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the package `tests`")]
mod guests;

mod api_keys;
mod bench_model;
mod bench_serve;
mod commands;
mod contracts;
mod doctor;
mod health;
mod logs;
mod parser_commands;
mod parser_new;
mod refusals;
mod serve_switches;
mod serving_parsers;
mod several_models;
mod shell;
mod start_and_stop;
mod stderr;
mod store_commands;
mod store_switches;
