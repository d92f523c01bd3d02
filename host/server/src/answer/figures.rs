//! Metrics of one answer, under its model's label.

use std::sync::Arc;
use std::time::Duration;

use turn::Usage;

/// The metrics of an answer. While they live, the answer counts as under way.
pub(super) struct AnswerFigures {
    /// Label of the model.
    model: Arc<str>,
    under_way: metrics::Gauge,
}

impl AnswerFigures {
    /// An answer of this model begins.
    pub(super) fn begin(model: Arc<str>) -> Self {
        let under_way = metrics::gauge!("sluice_streams", "model" => Arc::clone(&model));
        under_way.increment(1);
        Self { model, under_way }
    }

    /// Label of the model.
    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// The model's first event came after this time.
    pub(super) fn first_token(&self, time: Duration) {
        metrics::histogram!("sluice_first_token_seconds", "model" => Arc::clone(&self.model)).record(time);
    }

    /// A reader took nothing for too long.
    pub(super) fn slow_reader(&self) {
        metrics::counter!("sluice_slow_readers_total", "model" => Arc::clone(&self.model)).increment(1);
    }

    /// The stream broke the event grammar.
    pub(super) fn violation(&self) {
        metrics::counter!("sluice_stream_violations_total", "model" => Arc::clone(&self.model)).increment(1);
    }

    /// A turn ended after this time.
    pub(super) fn end(&self, usage: Usage, time: Duration) {
        let model = || Arc::clone(&self.model);
        metrics::counter!("sluice_prompt_tokens_total", "model" => model())
            .increment(usage.input_tokens.into());
        metrics::counter!("sluice_generated_tokens_total", "model" => model())
            .increment(usage.output_tokens.into());
        metrics::histogram!("sluice_answer_seconds", "model" => model()).record(time);
    }
}

impl Drop for AnswerFigures {
    fn drop(&mut self) {
        self.under_way.decrement(1);
    }
}
