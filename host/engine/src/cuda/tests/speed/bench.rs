//! A device whose memory is filled with random numbers, and the timing of launches on it.

use std::time::Instant;

use cuda_kernels::{DevicePtr, Launch, MatrixProduct, RandomWeights};

use crate::cuda::CudaError;
use crate::cuda::driver::Driver;

/// Device with a pool of random weights and caches, and buffers of activations.
pub(super) struct Bench {
    pub(super) driver: Box<dyn Driver>,
    /// Memory for weights and caches.
    pub(super) pool: DevicePtr,
    pool_bytes: u64,
    /// Buffers of activations: inputs of the kernels, and their results.
    pub(super) inputs: DevicePtr,
    pub(super) out: DevicePtr,
    /// Number of times that launches are timed.
    repetitions: usize,
}

/// Launches of one case, and the work of each launch.
pub(super) struct Prepared {
    pub(super) launches: Vec<Launch>,
    /// The same work as products of the library; empty where it is more than products.
    pub(super) products: Vec<MatrixProduct>,
    /// Bytes that a launch has to read and write.
    pub(super) bytes: u64,
    /// Multiplications and additions of a launch; 0 where only bytes count.
    pub(super) operations: f64,
}

impl Bench {
    pub(super) fn new(
        mut driver: Box<dyn Driver>,
        pool_bytes: u64,
        activation_bytes: u64,
        repetitions: usize,
    ) -> Self {
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap();
        let pool = driver.allocate("weights", bytes(pool_bytes)).unwrap();
        let inputs = driver.allocate("activations", bytes(activation_bytes)).unwrap();
        let out = driver.allocate("activations", bytes(activation_bytes)).unwrap();
        let mut bench = Self { driver, pool, pool_bytes, inputs, out, repetitions };
        for (at, bytes) in [(pool, pool_bytes), (inputs, activation_bytes), (out, activation_bytes)] {
            let weights = RandomWeights { out: at, count: bytes / 2, seed: at.0, middle: 0.0, spread: 0.1 };
            bench.launch(&weights.launch());
        }
        bench.driver.synchronize().unwrap();
        bench
    }

    pub(super) fn launch(&mut self, launch: &Launch) {
        self.driver.prepare(&[launch.kernel.variant()], &mut |_| {}).unwrap();
        self.driver.launch(launch).unwrap();
    }

    pub(super) fn u32(&mut self, values: &[u32]) -> DevicePtr {
        let at = self.driver.allocate("lists", values.len().max(4) * 4).unwrap();
        let mut memory = self.driver.pinned(values.len() * 4).unwrap();
        memory.bytes_mut()[..values.len() * 4].copy_from_slice(bytemuck::cast_slice(values));
        self.driver.upload(memory.as_ref(), 0..values.len() * 4, at).unwrap();
        self.driver.synchronize().unwrap();
        at
    }

    pub(super) fn zeros(&mut self, words: u32) -> DevicePtr {
        self.u32(&vec![0; words as usize])
    }

    /// Address of `bytes` bytes of the pool; different numbers give different pieces until the pool
    /// is used up.
    pub(super) fn piece(&self, number: u64, bytes: u64) -> DevicePtr {
        let pieces = (self.pool_bytes / bytes.next_multiple_of(256)).max(1);
        self.pool.offset(number % pieces * bytes.next_multiple_of(256))
    }

    /// Seconds per launch, of the launches replayed as one graph; the best repetition.
    pub(super) fn time(&mut self, launches: &[Launch]) -> f64 {
        self.launch(&launches[0]);
        self.time_graph(launches.len(), |driver| launches.iter().try_for_each(|launch| driver.launch(launch)))
    }

    /// Seconds per product of the library, in the same way; `None` where it doesn't take them.
    pub(super) fn time_products(&mut self, products: &[MatrixProduct]) -> Option<f64> {
        // The first call chooses the kernel, which must not be done while a graph is captured.
        if !self.driver.multiply(products.first()?).unwrap() {
            return None;
        }
        let multiply = |driver: &mut dyn Driver| {
            products.iter().try_for_each(|product| driver.multiply(product).map(|_| ()))
        };
        Some(self.time_graph(products.len(), multiply))
    }

    fn time_graph(
        &mut self,
        count: usize,
        enqueue: impl FnOnce(&mut dyn Driver) -> Result<(), CudaError>,
    ) -> f64 {
        self.driver.synchronize().unwrap();
        self.driver.begin_capture().unwrap();
        enqueue(self.driver.as_mut()).unwrap();
        let graph = self.driver.end_capture().unwrap();
        let mut best = f64::INFINITY;
        for _ in 0..self.repetitions {
            let begin = Instant::now();
            self.driver.replay(graph).unwrap();
            self.driver.synchronize().unwrap();
            best = best.min(begin.elapsed().as_secs_f64());
        }
        best / count as f64
    }

    /// Bytes per second of a copy of one half of the pool over the other, reads and writes counted.
    pub(super) fn copy(&mut self) -> f64 {
        let (half, mut best) = (self.pool_bytes / 2, f64::INFINITY);
        for _ in 0..self.repetitions {
            let begin = Instant::now();
            self.driver.copy(self.pool, half as usize, self.pool.offset(half)).unwrap();
            self.driver.synchronize().unwrap();
            best = best.min(begin.elapsed().as_secs_f64());
        }
        2.0 * half as f64 / best
    }
}
