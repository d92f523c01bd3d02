//! Graphs of decode steps: one for each bucket, recorded at start by running the model once more.

use super::CudaError;
use super::backend::CudaBackend;
use super::buckets::bucket;
use super::driver::Graph;
use super::step::StepShape;
use crate::models::Decoder;

/// Graphs by bucket.
#[derive(Debug, Default)]
pub(super) struct DecodeGraphs {
    buckets: Vec<usize>,
    graphs: Vec<Graph>,
}

impl DecodeGraphs {
    /// Records a graph for each bucket. Every such step must have run before, so that nothing is
    /// loaded during a capture.
    pub(super) fn capture(
        model: &mut Decoder<CudaBackend>,
        backend: &mut CudaBackend,
        buckets: &[usize],
    ) -> Result<Self, CudaError> {
        let graph = |bucket: &usize| {
            backend.begin_without_batch(StepShape::decode(*bucket));
            backend.driver.begin_capture()?;
            model.forward(backend);
            // The capture must end even if a launch in it failed.
            let (failed, graph) = (backend.end(), backend.driver.end_capture());
            failed.and(graph)
        };
        let graphs = buckets.iter().map(graph).collect::<Result<_, _>>()?;
        Ok(Self { buckets: buckets.to_vec(), graphs })
    }

    /// The bucket and the graph for a decode step of `rows` rows; `None` where the step is larger
    /// than all buckets.
    pub(super) fn find(&self, rows: usize) -> Option<(usize, Graph)> {
        let found = bucket(&self.buckets, rows)?;
        let at = self.buckets.iter().position(|bucket| *bucket == found)?;
        Some((found, self.graphs[at]))
    }
}
