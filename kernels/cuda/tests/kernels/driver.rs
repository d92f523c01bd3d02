//! Drivers of this crate's tests: the shim in both orders of threads.

use cuda_kernels::{DevicePtr, Launch};
use cuda_shim::{Shim, ThreadOrder};

use super::device::TestDriver;

pub(crate) fn all() -> impl Iterator<Item = Box<dyn TestDriver>> {
    [ThreadOrder::Forward, ThreadOrder::Backward]
        .into_iter()
        .map(|order| -> Box<dyn TestDriver> { Box::new(OnShim { shim: Shim::with_order(order), order }) })
}

struct OnShim {
    shim: Shim,
    order: ThreadOrder,
}

impl TestDriver for OnShim {
    fn with(&self, bytes: &[u8]) -> DevicePtr {
        self.shim.alloc_with(bytes).unwrap()
    }

    fn write(&self, to: DevicePtr, bytes: &[u8]) {
        self.shim.upload(to, bytes).unwrap();
    }

    fn read(&self, from: DevicePtr, bytes: &mut [u8]) {
        self.shim.download(from, bytes).unwrap();
    }

    fn launch(&self, launch: &Launch) {
        self.shim.launch(launch).unwrap_or_else(|error| panic!("{:?}: {error}", self.order));
    }

    fn block_shared_bytes(&self) -> u32 {
        227 << 10
    }
}
