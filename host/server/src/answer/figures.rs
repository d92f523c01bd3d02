//! Metrics of one answer, under its model's label.

use std::sync::Arc;
use std::time::Duration;

use crate::server_metrics::{SLOW_READERS, STREAM_VIOLATIONS, STREAMS};
use model::observe::ModelMetrics;

/// The metrics of an answer. While they live, the answer counts as under way.
pub(crate) struct AnswerFigures {
    model: Arc<ModelMetrics>,
    under_way: metrics::Gauge,
}

impl AnswerFigures {
    /// An answer of this model begins.
    pub(crate) fn begin(model: Arc<ModelMetrics>) -> Self {
        let under_way = metrics::gauge!(STREAMS.name(), "model_name" => Arc::clone(model.label()));
        under_way.increment(1);
        Self { model, under_way }
    }

    /// Label of the model.
    pub(crate) fn model(&self) -> &str {
        self.model.label()
    }

    /// The model's first event came after this time.
    pub(crate) fn first_event(&self, time: Duration) {
        self.model.first_event(time);
    }

    /// A reader took nothing for too long.
    pub(crate) fn slow_reader(&self) {
        let model = Arc::clone(self.model.label());
        metrics::counter!(SLOW_READERS.name(), "model_name" => model).increment(1);
    }

    /// The stream broke the event grammar.
    pub(crate) fn violation(&self) {
        let model = Arc::clone(self.model.label());
        metrics::counter!(STREAM_VIOLATIONS.name(), "model_name" => model).increment(1);
    }

    /// A choice of the answer ended after this time.
    pub(crate) fn end(&self, time: Duration) {
        self.model.answer_ended(time);
    }
}

impl Drop for AnswerFigures {
    fn drop(&mut self) {
        self.under_way.decrement(1);
    }
}
