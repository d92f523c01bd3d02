//! Driver for the tests of kernels: one of this crate's drivers.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cuda_kernels::{DevicePtr, Launch};

use super::device::TestDriver;
use crate::cuda::driver::Driver;
use crate::cuda::tests::rig::device;
use crate::cuda::tests::shim::ShimDriver;

/// A shim for each test, or one GPU that all tests share: it has one context, and compiles each
/// kernel once.
pub(crate) fn all() -> impl Iterator<Item = Box<dyn TestDriver>> {
    static GPU: OnceLock<Arc<Mutex<Box<dyn Driver>>>> = OnceLock::new();
    let driver = match std::env::var_os("ENGINE_TESTS_DEVICE") {
        Some(_) => Arc::clone(GPU.get_or_init(|| Arc::new(Mutex::new(device())))),
        None => Arc::new(Mutex::new(Box::new(ShimDriver::new()) as Box<dyn Driver>)),
    };
    std::iter::once(Box::new(OnDriver { driver }) as Box<dyn TestDriver>)
}

struct OnDriver {
    driver: Arc<Mutex<Box<dyn Driver>>>,
}

impl OnDriver {
    fn with_driver<T>(&self, work: impl FnOnce(&mut dyn Driver) -> T) -> T {
        work(self.driver.lock().unwrap_or_else(PoisonError::into_inner).as_mut())
    }
}

impl TestDriver for OnDriver {
    fn with(&self, bytes: &[u8]) -> DevicePtr {
        let at = self.with_driver(|driver| driver.allocate("a test", bytes.len().max(1)).unwrap());
        self.write(at, bytes);
        at
    }

    fn write(&self, to: DevicePtr, bytes: &[u8]) {
        self.with_driver(|driver| {
            let mut memory = driver.pinned(bytes.len()).unwrap();
            memory.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
            driver.upload(memory.as_ref(), 0..bytes.len(), to).unwrap();
            driver.synchronize().unwrap();
        });
    }

    fn read(&self, from: DevicePtr, bytes: &mut [u8]) {
        self.with_driver(|driver| {
            let mut memory = driver.pinned(bytes.len()).unwrap();
            driver.download(from, bytes.len(), memory.as_mut()).unwrap();
            driver.synchronize().unwrap();
            bytes.copy_from_slice(&memory.bytes()[..bytes.len()]);
        });
    }

    fn launch(&self, launch: &Launch) {
        let variant = launch.kernel.variant();
        self.with_driver(|driver| {
            driver.prepare(&[variant], &mut |_| {}).unwrap();
            driver.launch(launch).unwrap();
            driver.synchronize().unwrap_or_else(|error| panic!("{}: {error}", launch.kernel));
        });
    }

    fn block_shared_bytes(&self) -> u32 {
        self.with_driver(|driver| driver.device().block_shared_bytes)
    }
}
