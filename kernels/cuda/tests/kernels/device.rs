//! Device of one test: buffers of numbers, and launches. `driver` says what it runs on: here the
//! shim; the engine includes these tests and runs them on its own drivers.

use std::cell::Cell;

use bytemuck::Pod;
use cuda_kernels::{DevicePtr, Launch, Tolerance};
use half::bf16;

use super::driver;

/// What runs kernels in a test. Every error is a panic.
pub(crate) trait TestDriver {
    /// Allocates memory with these bytes.
    fn with(&self, bytes: &[u8]) -> DevicePtr;
    /// Overwrites memory.
    fn write(&self, to: DevicePtr, bytes: &[u8]);
    fn read(&self, from: DevicePtr, bytes: &mut [u8]);
    fn launch(&self, launch: &Launch);
    /// Bytes of shared memory that a block may have.
    fn block_shared_bytes(&self) -> u32;
}

thread_local! {
    /// Name of the kernel that was launched last, for messages about results.
    static KERNEL: Cell<&'static str> = const { Cell::new("") };
}

/// Runs a test's body on all drivers; on the shim, threads run forward in one and backward in the
/// other.
pub(crate) fn in_both_orders(body: impl Fn(&Device)) {
    for driver in driver::all() {
        body(&Device { driver });
    }
}

pub(crate) struct Device {
    driver: Box<dyn TestDriver>,
}

impl Device {
    pub(crate) fn with<T: Pod>(&self, values: &[T]) -> DevicePtr {
        self.driver.with(bytemuck::cast_slice(values))
    }

    pub(crate) fn f32(&self, values: &[f32]) -> DevicePtr {
        self.with(values)
    }

    pub(crate) fn u32(&self, values: &[u32]) -> DevicePtr {
        self.with(values)
    }

    /// A buffer of bf16, for values that bf16 holds exactly (see [`round`]).
    pub(crate) fn bf16(&self, values: &[f32]) -> DevicePtr {
        let bits: Vec<u16> = values.iter().map(|x| bf16::from_f32(*x).to_bits()).collect();
        self.with(&bits)
    }

    /// A buffer that a kernel has to fill: all NaN. On the shim, a write behind it is an error.
    pub(crate) fn out<T: Pod>(&self, len: usize) -> DevicePtr {
        self.with(&vec![0xffu8; len * size_of::<T>()])
    }

    /// Fills a buffer with NaN again.
    pub(crate) fn spoil(&self, at: DevicePtr, bytes: usize) {
        self.driver.write(at, &vec![0xff; bytes]);
    }

    pub(crate) fn block_shared_bytes(&self) -> u32 {
        self.driver.block_shared_bytes()
    }

    pub(crate) fn run(&self, launch: &Launch) {
        KERNEL.set(launch.kernel.entry);
        self.driver.launch(launch);
    }

    pub(crate) fn read<T: Pod>(&self, from: DevicePtr, len: usize) -> Vec<T> {
        let mut values = vec![T::zeroed(); len];
        self.driver.read(from, bytemuck::cast_slice_mut(&mut values));
        values
    }

    pub(crate) fn read_f32(&self, from: DevicePtr, len: usize) -> Vec<f32> {
        self.read(from, len)
    }

    pub(crate) fn read_bf16(&self, from: DevicePtr, len: usize) -> Vec<f32> {
        let bits: Vec<u16> = self.read(from, len);
        bits.into_iter().map(|bits| bf16::from_bits(bits).to_f32()).collect()
    }

    pub(crate) fn check_bf16(&self, out: DevicePtr, wanted: &[f64], tolerance: Tolerance, what: &str) {
        near(tolerance, &self.read_bf16(out, wanted.len()), wanted, what);
    }
}

/// Checks the results of the kernel that ran last. Prints the greatest error, and its share of the
/// error that is allowed.
pub(crate) fn near(tolerance: Tolerance, got: &[f32], wanted: &[f64], what: &str) {
    let kernel = KERNEL.get();
    tolerance.check(got, wanted).unwrap_or_else(|error| panic!("{kernel}, {what}: {error}"));
    let errors = got.iter().zip(wanted).filter(|(_, wanted)| wanted.is_finite()).map(|(got, wanted)| {
        let error = (f64::from(*got) - wanted).abs();
        let allowed = tolerance.absolute + tolerance.relative * wanted.abs();
        (error, if error > 0.0 { error / allowed } else { 0.0 })
    });
    let (error, share) = errors.fold((0f64, 0f64), |(a, b), (error, share)| (a.max(error), b.max(share)));
    println!("error {kernel} {error:.3e} {share:.3} {what}");
}

/// Values in -1..1 that bf16 holds exactly, different for each seed. `KERNEL_TESTS_SEED` gives
/// other values.
pub(crate) fn values(len: usize, seed: u32) -> Vec<f32> {
    let fresh: u32 = std::env::var("KERNEL_TESTS_SEED").map_or(0, |seed| seed.parse().expect("a number"));
    let seed = seed ^ fresh.wrapping_mul(0xc2b2_ae35);
    let draw = |i: usize| {
        let mixed = (i as u32).wrapping_mul(0x9e37_79b9) ^ seed.wrapping_mul(0x85eb_ca6b);
        let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x2c1b_3c6d);
        round(((mixed >> 8) as f32 / 8_388_608.0) - 1.0)
    };
    (0..len).map(draw).collect()
}

/// The nearest bf16 value.
pub(crate) fn round(x: f32) -> f32 {
    bf16::from_f32(x).to_f32()
}
