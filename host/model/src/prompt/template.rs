//! Chat template of a model, and the bounds of its runs. Called by `render`.
//!
//! The crate `jinja` runs it as transformers does. Its time is bounded as CPU time, and the bound
//! grows with the request, so that the longest conversation that a model takes is as fine as a
//! short one, and a template that doesn't end is stopped. The probes of a start, which are many,
//! share one bound.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jinja::{Error, ErrorKind, Output, Value};

use crate::limits::Limits;
use system::cpu_clock::thread_cpu_time;

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
    pub(super) fn new(limits: &Limits) -> Self {
        Self { time: limits.template_time, output: limits.template_output }
    }
}

/// CPU time that the probes of a start may take together. One that reaches the bound fails, and
/// all behind it do at once.
#[derive(Debug)]
pub(super) struct ProbeTime {
    most: Duration,
    /// Nanoseconds that the probes took.
    taken: AtomicU64,
}

impl ProbeTime {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { most: limits.template_time.saturating_mul(PROBE_TIMES), taken: AtomicU64::new(0) }
    }

    /// Time that is left.
    fn left(&self) -> Duration {
        self.most.saturating_sub(Duration::from_nanos(self.taken.load(Ordering::Relaxed)))
    }

    fn take(&self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.taken.fetch_add(time, Ordering::Relaxed);
    }

    /// Checks that the probes kept the bound. The error is a reason.
    pub(super) fn check(&self) -> Result<(), String> {
        if !self.left().is_zero() {
            return Ok(());
        }
        Err(format!(
            "a few short conversations take it more than {} ms of CPU time, {PROBE_TIMES} times --template-time",
            self.most.as_millis()
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
    ) -> Result<Output, TemplateError> {
        let TemplateLimits { time, output } = self.limits;
        let time = time.saturating_mul(u32::try_from(1 + bytes / BYTES_PER_TIME).unwrap_or(u32::MAX));
        let time = probes.map_or(time, |probes| time.min(probes.left()));
        let began = thread_cpu_time();
        let text_bytes = output.saturating_add(bytes);
        let is_exhausted = || thread_cpu_time().saturating_sub(began) > time;
        let limits = jinja::Limits { text_bytes, is_exhausted: &is_exhausted };
        let rendered = self.template.render(variables, &limits);
        if let Some(probes) = probes {
            probes.take(thread_cpu_time().saturating_sub(began));
        }
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
