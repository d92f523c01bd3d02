//! Remote engines: Sluice in front of inference servers that generate elsewhere.

pub mod routing;
