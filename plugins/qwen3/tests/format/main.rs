//! The Qwen3 format, line by line: what the model writes, and the items that must come of it, however it is cut.

mod any_cut;
mod calls;
mod faults;
mod reasoning;
mod turns;
