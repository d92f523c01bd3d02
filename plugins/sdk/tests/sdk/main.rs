//! Tests of the SDK.

mod allocator;
mod json;
mod names;
mod sections;
mod shipped;
mod sizes;
