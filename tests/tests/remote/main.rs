//! What the server calls: remote engines, their faults, and what clients see of them; what is sent
//! to each kind; captured answers of real engines; routing between them; and tool servers.

mod budgets;
mod cancel;
mod captured;
mod chain;
mod constraints;
mod faults;
mod floods;
mod health;
mod lists;
mod overload;
mod routing;
mod setup;
mod state;
mod steps;
mod tls;
mod tools;
mod two;
