//! The binary, as a shell and an operator use it.

#[path = "../../../tests/src/guests.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the package `tests`")]
mod guests;

mod api_keys;
mod bench_model;
mod bench_serve;
mod cached_models;
mod catalog;
mod chat;
mod commands;
mod config;
mod config_of_clients;
mod contracts;
mod derived_at_start;
mod doctor;
mod health;
mod launch;
mod logs;
mod parser_commands;
mod parser_derive;
mod parser_fit;
mod parser_fit_material;
mod parser_fit_traps;
mod parser_new;
mod parser_template;
mod pseudo_terminal;
mod records;
mod refusals;
mod run;
mod scripted_server;
mod serve_switches;
mod serving;
mod serving_parsers;
mod several_models;
mod shell;
mod start_and_stop;
mod stderr;
mod store_commands;
mod store_switches;
mod strangers;
