//! Graphs.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::c_ulonglong;
use std::sync::Arc;

use cudarc::driver::sys::{CUgraph, CUgraphExec, CUresult, CUstream};

use crate::call::context;
use crate::outcome::{put, wrong};
use crate::work::Work;

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGraphInstantiateWithFlags(
    executable: *mut CUgraphExec,
    graph: CUgraph,
    flags: c_ulonglong,
) -> CUresult {
    const NAME: &str = "cuGraphInstantiateWithFlags";
    context(NAME, |context| {
        if flags != 0 {
            return Err(wrong(NAME, CUresult::CUDA_ERROR_INVALID_VALUE, format!("flags {flags}")));
        }
        let work = known(NAME, context.graphs.get(graph))?;
        put(NAME, executable, context.executables.add(work))
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGraphDestroy(graph: CUgraph) -> CUresult {
    const NAME: &str = "cuGraphDestroy";
    context(NAME, |context| known(NAME, context.graphs.remove(graph).as_ref()).map(drop))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGraphExecDestroy(executable: CUgraphExec) -> CUresult {
    const NAME: &str = "cuGraphExecDestroy";
    context(NAME, |context| known(NAME, context.executables.remove(executable).as_ref()).map(drop))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream) -> CUresult {
    const NAME: &str = "cuGraphLaunch";
    context(NAME, |context| {
        let work = known(NAME, context.executables.get(executable))?;
        context.enqueue(NAME, stream, Work::Graph(work))
    })
}

fn known(name: &str, graph: Option<&Arc<[Work]>>) -> Result<Arc<[Work]>, CUresult> {
    graph.map(Arc::clone).ok_or_else(|| wrong(name, CUresult::CUDA_ERROR_INVALID_HANDLE, "no such graph"))
}
