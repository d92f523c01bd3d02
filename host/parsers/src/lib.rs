//! Output parsers. Only this room uses wasmtime.
//!
//! A plugin file becomes a [`Plugin`] once ([`Runtime::load`]), and a [`contract::StreamParser`]
//! once per stream ([`Plugin::start`]). A parser has no imports, bounded memory, bounded CPU time
//! per call and bounded answers; one that fails is never entered again. Callers see [`contract`]
//! and the names below, never a Wasm type.
//!
//! Each version of the contract is one module of `component`, behind the trait
//! `factory::ParserFactory`.
#![doc = include_str!("../DESIGN.md")]

mod cache;
mod compiled;
mod component;
#[cfg(feature = "conformance")]
pub mod conformance;
mod descriptor;
mod digest;
mod error;
mod factory;
mod failed;
mod instance;
mod instance_limits;
mod limits;
mod load;
mod none;
mod plugin;
mod runtime;
mod sandbox;
mod section;
#[cfg(feature = "shipped")]
pub mod shipped;
mod source;
mod stamp;
mod stream;
mod table;
mod ticker;
pub mod trace;
mod version;

pub use cache::{CacheError, CompileCache, MachineCode};
pub use digest::digest;
pub use error::{LoadProblem, Mismatch, PluginLoadError};
pub use failed::FailedParser;
pub use limits::ParserLimits;
pub use load::FileFacts;
pub use plugin::Plugin;
pub use runtime::{Runtime, RuntimeError, Traps};
pub use source::{PluginSource, ResolveError, Shipped, TableSource, plugins_in, resolve};
pub use stamp::build_sections;
pub use stream::{AlignError, BoundPlugin, Decode, OutputStream};
pub use table::{ShippedTables, TABLE_OPTION, tables_in};
pub use version::{ContractVersion, HOST_VERSION};
