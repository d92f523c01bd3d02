//! What the driver's documentation forbids is refused, and what may happen late happens late. All
//! tests share one device.

mod capture;
mod late;
mod launch;
mod rig;
mod wrong;
