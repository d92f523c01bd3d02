//! A device of one test: buffers of numbers, launches in both orders of threads.

use bytemuck::Pod;
use cuda_kernels::{DevicePtr, Launch, Tolerance};
use cuda_shim::{Order, Shim};
use half::bf16;

/// Runs a test's body on devices that run threads forwards and backwards.
pub(crate) fn in_both_orders(body: impl Fn(&Device)) {
    for order in [Order::Forward, Order::Backward] {
        body(&Device { shim: Shim::with_order(order), order });
    }
}

pub(crate) struct Device {
    pub(crate) shim: Shim,
    order: Order,
}

impl Device {
    pub(crate) fn f32(&self, values: &[f32]) -> DevicePtr {
        self.shim.alloc_with(values).unwrap()
    }

    pub(crate) fn u32(&self, values: &[u32]) -> DevicePtr {
        self.shim.alloc_with(values).unwrap()
    }

    /// A buffer of bf16, for values that are (see [`round`]).
    pub(crate) fn bf16(&self, values: &[f32]) -> DevicePtr {
        let bits: Vec<u16> = values.iter().map(|x| bf16::from_f32(*x).to_bits()).collect();
        self.shim.alloc_with(&bits).unwrap()
    }

    /// A buffer that a kernel has to fill: all NaN, and nothing behind it may be written.
    pub(crate) fn out<T: Pod>(&self, len: usize) -> DevicePtr {
        self.shim.alloc(len * size_of::<T>()).unwrap()
    }

    pub(crate) fn run(&self, launch: &Launch) {
        self.shim.launch(launch).unwrap_or_else(|error| panic!("{:?}: {error}", self.order));
    }

    pub(crate) fn read_f32(&self, from: DevicePtr, len: usize) -> Vec<f32> {
        self.shim.read(from, len).unwrap()
    }

    pub(crate) fn read_bf16(&self, from: DevicePtr, len: usize) -> Vec<f32> {
        let bits: Vec<u16> = self.shim.read(from, len).unwrap();
        bits.into_iter().map(|bits| bf16::from_bits(bits).to_f32()).collect()
    }

    pub(crate) fn check_bf16(&self, out: DevicePtr, wanted: &[f64], tolerance: Tolerance, what: &str) {
        check(&self.read_bf16(out, wanted.len()), wanted, tolerance, what);
    }
}

fn check(got: &[f32], wanted: &[f64], tolerance: Tolerance, what: &str) {
    tolerance.check(got, wanted).unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// Values in -1..1, others for each seed, that bf16 holds exactly.
pub(crate) fn values(len: usize, seed: u32) -> Vec<f32> {
    let draw = |i: usize| {
        let mixed = (i as u32).wrapping_mul(0x9e37_79b9) ^ seed.wrapping_mul(0x85eb_ca6b);
        let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x2c1b_3c6d);
        round(((mixed >> 8) as f32 / 8_388_608.0) - 1.0)
    };
    (0..len).map(draw).collect()
}

/// The nearest bf16.
pub(crate) fn round(x: f32) -> f32 {
    bf16::from_f32(x).to_f32()
}
