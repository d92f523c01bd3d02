//! A device of one test: buffers of numbers, launches. What it is, `driver` says: here the shim, and the engine's tests have the same tests on
//! its drivers.

use std::cell::Cell;

use bytemuck::Pod;
use cuda_kernels::{DevicePtr, Launch, Tolerance};
use half::bf16;

use super::driver;

/// What runs kernels. Whatever goes wrong is a panic.
pub(crate) trait TestDriver {
    /// Memory with these bytes.
    fn with(&self, bytes: &[u8]) -> DevicePtr;
    /// Writes over memory.
    fn write(&self, to: DevicePtr, bytes: &[u8]);
    fn read(&self, from: DevicePtr, bytes: &mut [u8]);
    fn launch(&self, launch: &Launch);
}

thread_local! {
    /// The kernel that was launched last, for what is said of results.
    static KERNEL: Cell<&'static str> = const { Cell::new("") };
}

/// Runs a test's body on all there are: on the shim, threads run forwards and backwards.
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

    /// A buffer of bf16, for values that are (see [`round`]).
    pub(crate) fn bf16(&self, values: &[f32]) -> DevicePtr {
        let bits: Vec<u16> = values.iter().map(|x| bf16::from_f32(*x).to_bits()).collect();
        self.with(&bits)
    }

    /// A buffer that a kernel has to fill: all NaN, and on the shim nothing behind it may be written.
    pub(crate) fn out<T: Pod>(&self, len: usize) -> DevicePtr {
        self.with(&vec![0xffu8; len * size_of::<T>()])
    }

    /// Makes a buffer all NaN again.
    pub(crate) fn spoil(&self, at: DevicePtr, bytes: usize) {
        self.driver.write(at, &vec![0xff; bytes]);
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

/// Results of the kernel that ran last are as wanted. The greatest error is printed, and its share of what is allowed.
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

/// Values in -1..1, others for each seed, that bf16 holds exactly; others in each run where `KERNEL_TESTS_SEED` is.
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

/// The nearest bf16.
pub(crate) fn round(x: f32) -> f32 {
    bf16::from_f32(x).to_f32()
}
