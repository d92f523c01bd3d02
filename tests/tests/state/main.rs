//! State: responses that are stored, continued, read again, followed, cancelled and deleted, by their owner alone.

mod background;
mod chains;
mod faults;
mod owners;
mod programs;
mod support;
