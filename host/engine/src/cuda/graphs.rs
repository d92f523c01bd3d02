//! The graphs of decode steps: one for each bucket, recorded at start by running the model once more.

use super::CudaError;
use super::backend::CudaBackend;
use super::buckets::bucket;
use super::driver::Graph;
use super::step::StepShape;
use crate::models::Model;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct DecodeGraphs {
    buckets: Vec<usize>,
    graphs: Vec<Graph>,
}

impl DecodeGraphs {
    /// Records one for each of these buckets. Each was run before, so that nothing is loaded while it is recorded.
    pub(super) fn capture(
        model: &mut Model<CudaBackend>,
        backend: &mut CudaBackend,
        buckets: &[usize],
    ) -> Result<Self, CudaError> {
        let graph = |bucket: &usize| {
            backend.foresee(StepShape::decode(*bucket));
            backend.driver.begin_capture()?;
            model.forward(backend);
            // The capture ends whatever happened in it.
            let (failed, graph) = (backend.end(), backend.driver.end_capture());
            failed.and(graph)
        };
        let graphs = buckets.iter().map(graph).collect::<Result<_, _>>()?;
        Ok(Self { buckets: buckets.to_vec(), graphs })
    }

    /// The bucket and the graph for a decode step of so many rows; none where it is too large.
    pub(super) fn find(&self, rows: usize) -> Option<(usize, Graph)> {
        let found = bucket(&self.buckets, rows)?;
        let at = self.buckets.iter().position(|bucket| *bucket == found)?;
        Some((found, self.graphs[at]))
    }
}
