//! The driver's functions, by what they work on.

mod context;
mod copies;
mod device;
mod error;
mod event;
mod graph;
mod launch;
mod memory;
mod module;
mod pinned;
mod stream;

pub(crate) use context::current_context;
pub(crate) use event::Event;
pub(crate) use module::Function;
pub(crate) use stream::Stream;

#[cfg(test)]
pub(crate) use self::{
    context::*, copies::*, device::*, error::*, event::*, graph::*, launch::*, memory::*, module::*,
    pinned::*, stream::*,
};
