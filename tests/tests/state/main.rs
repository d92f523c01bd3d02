//! State: responses that are stored, continued, read again, followed, cancelled and deleted, by
//! their owner alone; conversations; and what is left of them whatever happens to the server.

mod background;
mod chains;
mod conversations;
mod durability;
mod end_reasoning;
mod faults;
mod hosts;
mod owners;
mod paid;
mod programs;
mod support;
mod threads;
