//! The adapter of `smg-symphony`.

mod cases;
mod faults;
mod lifecycle;
mod seen;
mod theirs;
