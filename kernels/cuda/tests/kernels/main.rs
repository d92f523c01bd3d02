//! Every kernel on the shim against its reference, on small and odd shapes, with threads in both orders.

mod device;
mod elementwise;
mod embed;
