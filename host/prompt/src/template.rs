//! Chat template of a model, and the bounds of its runs. Called by `render`.
//!
//! The crate `jinja` runs it as transformers does. Its time is bounded as CPU time, and the bound
//! grows with the request, so that the longest conversation that a model takes is as fine as a
//! short one, and a template that doesn't end is stopped. The probes of a start, which are many,
//! share one bound.

use std::time::Duration;

use jinja::{Error, ErrorKind, Rendering, Value};

use crate::limits::PromptLimits;
use system::CpuBudget;

/// Size of a request in bytes for which the time of a run is given once more.
const BYTES_PER_TIME: usize = 1 << 20;
/// Prompts whose time all probes of a start may take together.
const PROBE_TIMES: u32 = 2;

/// Error of running a template.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TemplateError {
    /// The template called `raise_exception` with this message.
    Raised(String),
    /// The template can't take this conversation, for this reason.
    Conversation(String),
}

/// Bounds of a template's runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct TemplateLimits {
    /// CPU time of a run for a small request.
    time: Duration,
    /// Bytes that a run may write in addition to the request's text.
    output: usize,
}

impl TemplateLimits {
    pub(super) fn new(limits: &PromptLimits) -> Self {
        Self { time: limits.template_time, output: limits.template_output }
    }
}

/// CPU time that the probes of a start may take together.
#[derive(Debug)]
pub(super) struct ProbeTime(CpuBudget);

impl ProbeTime {
    pub(super) fn new(limits: &PromptLimits) -> Self {
        Self(CpuBudget::new(limits.template_time.saturating_mul(PROBE_TIMES)))
    }

    /// Checks that the probes kept the bound. The error is a reason.
    pub(super) fn check(&self) -> Result<(), String> {
        if !self.0.is_spent() {
            return Ok(());
        }
        Err(format!(
            "a few short conversations take it more than {} ms of CPU time, {PROBE_TIMES} times --template-time",
            self.0.most().as_millis()
        ))
    }
}

/// A parsed template.
#[derive(Debug)]
pub(super) struct Template {
    template: jinja::Template,
    limits: TemplateLimits,
}

impl Template {
    /// Parses `source`, and logs what will fail if a run gets there. The error is a reason.
    pub(super) fn parse(source: &str, limits: TemplateLimits) -> Result<Self, String> {
        let template = jinja::Template::parse(source).map_err(|error| error.to_string())?;
        for warning in template.warnings() {
            tracing::warn!(
                line = warning.line,
                "the chat template fails where a conversation leads it to this line: {}",
                warning.message
            );
        }
        Ok(Self { template, limits })
    }

    /// Runs the template with the variables of a request of `bytes` bytes, or of a probe, which
    /// takes its time from that of all probes.
    pub(super) fn render(
        &self,
        variables: Vec<(&str, Value)>,
        bytes: usize,
        probes: Option<&ProbeTime>,
    ) -> Result<Rendering, TemplateError> {
        let TemplateLimits { time, output } = self.limits;
        let time = time.saturating_mul(u32::try_from(1 + bytes / BYTES_PER_TIME).unwrap_or(u32::MAX));
        let budget = probes.map_or_else(|| CpuBudget::new(time), |probes| probes.0.clone());
        let text_bytes = output.saturating_add(bytes);
        let rendered = budget.run(time, |is_exhausted| {
            self.template.render(variables, &jinja::Limits { text_bytes, is_exhausted })
        });
        rendered.map_err(|error| match error.kind {
            ErrorKind::Raised => TemplateError::Raised(error.message),
            ErrorKind::Exhausted => TemplateError::Conversation(format!(
                "it takes the template more than {} ms of CPU time (--template-time)",
                time.as_millis()
            )),
            ErrorKind::TooLarge => TemplateError::Conversation(format!(
                "the template makes texts of more than {text_bytes} bytes (--template-output)"
            )),
            ErrorKind::Syntax | ErrorKind::Runtime => TemplateError::Conversation(one_line(&error)),
        })
    }
}

fn one_line(error: &Error) -> String {
    error.to_string().lines().collect::<Vec<_>>().join(" ")
}
