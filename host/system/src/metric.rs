//! Metrics: a name is said once, with its kind and what it measures, beside the code that counts.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use metrics::Label;

/// Prefix of this server's own metrics.
const OWN_PREFIX: &str = "sluice_";

static PREFIX: OnceLock<String> = OnceLock::new();

/// Sets the prefix of the metrics that vLLM has, too, so that dashboards that were made for it find
/// them. Only the first call counts, and only if it comes before any metric is made.
pub fn set_prefix(prefix: &str) {
    let _ = PREFIX.set(prefix.to_owned());
}

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name; one that vLLM has, too, is without a prefix.
    name: &'static str,
    help: &'static str,
    kind: Kind,
    first: First,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// What makes the first value, so that a scrape has the metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Event,
    Start,
    EachModel,
}

impl Metric {
    /// A counter.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: Kind::Counter, first: First::Event }
    }

    /// A gauge.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { kind: Kind::Gauge, ..Self::counter(name, help) }
    }

    /// A histogram.
    pub const fn histogram(name: &'static str, help: &'static str) -> Self {
        Self { kind: Kind::Histogram, ..Self::counter(name, help) }
    }

    /// The same, which is 0 from the start.
    #[must_use]
    pub const fn at_start(self) -> Self {
        Self { first: First::Start, ..self }
    }

    /// The same, which is 0 for each model from the start.
    #[must_use]
    pub const fn each_model(self) -> Self {
        Self { first: First::EachModel, ..self }
    }

    /// What it measures.
    pub const fn help(self) -> &'static str {
        self.help
    }

    /// Its name as scrapes have it: this server's prefix, or the operator's where vLLM has it, too.
    pub fn name(self) -> Cow<'static, str> {
        if self.name.starts_with(OWN_PREFIX) {
            return Cow::Borrowed(self.name);
        }
        Cow::Owned(format!("{}{}", PREFIX.get().map_or(OWN_PREFIX, String::as_str), self.name))
    }

    /// Tells the recorder what it is, and its first value if it has one from the start.
    pub fn describe(self) {
        if self.first == First::Start {
            self.begin(Vec::new());
        }
        match self.kind {
            Kind::Counter => metrics::describe_counter!(self.name(), self.help),
            Kind::Gauge => metrics::describe_gauge!(self.name(), self.help),
            Kind::Histogram => metrics::describe_histogram!(self.name(), self.help),
        }
    }

    /// Tells the recorder its first value for the model with this label, if it has one from the
    /// start.
    pub fn describe_for(self, model: &Arc<str>) {
        if self.first == First::EachModel {
            self.begin(vec![Label::new("model_name", Arc::clone(model))]);
        }
    }

    fn begin(self, labels: Vec<Label>) {
        match self.kind {
            Kind::Counter => drop(metrics::counter!(self.name(), labels)),
            Kind::Gauge => drop(metrics::gauge!(self.name(), labels)),
            Kind::Histogram => drop(metrics::histogram!(self.name(), labels)),
        }
    }
}

/// Declares metrics as constants, and `METRICS`, all of them: each is a kind (a function of
/// [`Metric`]), the constant's name, in parentheses what makes its first value if no event does, the
/// metric's name, and what it measures.
///
/// ```
/// system::declare_metrics! {
///     counter SENT = "sluice_letters_sent_total", "Letters that were sent.";
/// }
/// assert_eq!((SENT.name(), METRICS), ("sluice_letters_sent_total".into(), &[SENT][..]));
/// ```
#[macro_export]
macro_rules! declare_metrics {
    ($($kind:ident $constant:ident $(($first:ident))? = $name:literal, $help:literal;)+) => {
        $(
            #[doc = $help]
            pub const $constant: $crate::metric::Metric =
                $crate::metric::Metric::$kind($name, $help)$(.$first())?;
        )+
        /// The metrics of this module.
        pub const METRICS: &[$crate::metric::Metric] = &[$($constant),+];
    };
}
