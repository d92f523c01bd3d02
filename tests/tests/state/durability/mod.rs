//! What clients see of the store, whatever happens to the server: kill -9, a disk that fails,
//! bounds that are reached, age.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]
#![expect(clippy::float_cmp, reason = "metrics of these tests are counts")]

mod bounds;
pub(crate) mod clients;
mod clock;
mod disk;
mod file;
mod followers;
mod kill;
mod lost_items;
mod queues;
mod servers;
mod sockets;
mod upkeep;
