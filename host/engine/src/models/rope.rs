//! Rotary embedding: the frequencies of each pair of dimensions, plain, stretched by `YaRN` (Peng
//! et al. 2023, arXiv:2309.00071), as Llama 3.1 does, or by factors of the model's own. Computed in
//! f64, rounded once.
#![expect(clippy::cast_precision_loss, reason = "dimensions and contexts are far below 2⁵²")]
#![expect(clippy::cast_possible_truncation, reason = "frequencies are rounded to f32")]

use std::f64::consts::PI;

use ops::QueryScaling;
use serde_json::Value;

use super::LoadError;
use super::fields::Fields;

/// Parameters of the rotary embedding.
#[derive(Debug, Clone, PartialEq)]
pub struct RopeSpec {
    /// Number of a head's first dimensions that are rotated, even; 0: positions play no part.
    pub rotated: usize,
    /// Base of the wavelengths.
    pub theta: f64,
    /// Stretching of a model trained on shorter contexts.
    pub scaling: Option<RopeScaling>,
    /// Scaling of queries by their position.
    pub query_scaling: Option<QueryScaling>,
}

/// Ways of stretching the frequencies to a longer context.
#[derive(Debug, Clone, PartialEq)]
pub enum RopeScaling {
    /// All alike: divided by the factor.
    Linear(f64),
    /// By ranges of dimensions.
    Yarn(YarnScaling),
    /// By ranges of wavelengths.
    Llama3(Llama3Scaling),
    /// By a factor for each pair of dimensions.
    LongRope(LongRopeScaling),
    /// Only the first `pairs` are rotated, by their frequencies over all pairs, divided by the factor.
    Proportional {
        /// Number of pairs.
        pairs: usize,
        /// The factor.
        factor: f64,
    },
}

/// A rotary embedding as devices compute it, for dimensions that are rotated.
#[derive(Debug, Clone, PartialEq)]
pub struct RopeTable {
    /// Radians per position of each rotated pair of dimensions.
    pub frequencies: Vec<f32>,
    /// Factor of cosines and sines.
    pub factor: f32,
    /// Scaling of queries by their position.
    pub query_scaling: Option<QueryScaling>,
}

/// `LongRoPE` (Ding et al. 2024, arXiv:2402.13753): the frequency of each pair is divided by a
/// factor of its own. Which factors are used follows from the context that is served: factors that
/// changed within a sequence would contradict the keys that are in the cache.
#[derive(Debug, Clone, PartialEq)]
pub struct LongRopeScaling {
    /// Factors for contexts of up to `original_context`.
    pub short: Vec<f64>,
    /// Factors for longer contexts.
    pub long: Vec<f64>,
    /// Context that the model was trained on.
    pub original_context: usize,
    /// Factor of cosines and sines.
    pub attention_factor: f64,
}

/// Llama 3.1: frequencies of long waves are divided by `factor`, those of short waves kept, those
/// between blended.
#[derive(Debug, Clone, PartialEq)]
pub struct Llama3Scaling {
    /// How much longer the context becomes.
    pub factor: f64,
    /// Context that the model was trained on.
    pub original_context: f64,
    /// Waves that fit the original context this often or less have their frequencies divided.
    pub low_freq_factor: f64,
    /// Waves that fit the original context this often or more keep their frequencies; above
    /// `low_freq_factor`.
    pub high_freq_factor: f64,
}

/// `YaRN`: low frequencies are divided by `factor`, high ones kept, those between blended.
#[derive(Debug, Clone, PartialEq)]
pub struct YarnScaling {
    /// How much longer the context becomes.
    pub factor: f64,
    /// Context that the model was trained on.
    pub original_context: f64,
    /// Rotations within the original context above which a frequency is kept.
    pub beta_fast: f64,
    /// Rotations within the original context below which a frequency is divided.
    pub beta_slow: f64,
    /// Whether the bounds of the blended frequencies are rounded outwards to whole pairs of
    /// dimensions.
    pub truncate: bool,
    /// Factor of cosines and sines.
    pub attention_factor: f64,
    /// Factor of scores, in architectures whose queries and keys are rotated in part only
    /// (`mscale_all_dim`).
    pub score_factor: f64,
}

impl RopeSpec {
    /// An embedding that isn't stretched.
    pub(super) fn plain(rotated: usize, theta: f64) -> Self {
        Self { rotated, theta, scaling: None, query_scaling: None }
    }

    /// The object with the parameters, by either of its names.
    pub(super) fn parameters(fields: Fields<'_>) -> Result<Option<Fields<'_>>, LoadError> {
        match fields.object("rope_parameters", "rope_parameters.")? {
            Some(parameters) => Ok(Some(parameters)),
            None => fields.object("rope_scaling", "rope_scaling."),
        }
    }

    /// Reads the embedding of a model whose context is `context`; `rotated` dimensions of its heads
    /// are rotated.
    pub(super) fn from_fields(fields: Fields<'_>, context: usize, rotated: usize) -> Result<Self, LoadError> {
        const DEFAULT_THETA: f64 = 10_000.0;
        let theta = fields.positive("rope_theta")?.unwrap_or(DEFAULT_THETA);
        let plain = Self::plain(rotated, theta);
        match Self::parameters(fields)? {
            Some(parameters) => plain.with_parameters(parameters, context, fields),
            None => Ok(plain),
        }
    }

    /// The same embedding with the base and the stretching that `parameters` say, in a model of
    /// this context and these fields.
    pub(super) fn with_parameters(
        self,
        parameters: Fields<'_>,
        context: usize,
        model: Fields<'_>,
    ) -> Result<Self, LoadError> {
        let original =
            |fields: Fields<'_>| fields.optional_size("original_max_position_embeddings", 1..=1 << 26);
        let original = original(parameters)?.map_or_else(|| original(model), |length| Ok(Some(length)))?;
        let original = original.unwrap_or(context);
        let theta = parameters.positive("rope_theta")?.unwrap_or(self.theta);
        let kind = match parameters.text("rope_type")? {
            Some(kind) => Some(kind),
            None => parameters.text("type")?,
        };
        let scaling = match kind.unwrap_or("default") {
            // The three positions of "mrope" are equal for text.
            "default" | "mrope" => None,
            "linear" => Some(RopeScaling::Linear(parameters.required_positive("factor")?)),
            "llama3" => Some(RopeScaling::Llama3(Llama3Scaling::from_fields(parameters, original)?)),
            "yarn" if theta > 1.0 => {
                Some(RopeScaling::Yarn(YarnScaling::from_fields(parameters, original, context)?))
            }
            "yarn" => {
                return Err(parameters.invalid(format!("yarn needs a \"rope_theta\" above 1, found {theta}")));
            }
            "longrope" | "su" => {
                let pairs = self.rotated / 2;
                Some(RopeScaling::LongRope(LongRopeScaling::from_fields(
                    parameters, original, context, pairs,
                )?))
            }
            "proportional" => {
                let part = parameters.positive("partial_rotary_factor")?.unwrap_or(1.0);
                let factor = parameters.positive("factor")?.unwrap_or(1.0);
                return Ok(Self { theta, ..self }.proportional(part, factor));
            }
            other => {
                let supported =
                    "\"default\", \"linear\", \"llama3\", \"yarn\", \"longrope\", \"proportional\"";
                let name = parameters.place("rope_type");
                return Err(
                    parameters.invalid(format!("{name} {other:?} is not supported; supported: {supported}"))
                );
            }
        };
        Ok(Self { theta, scaling, ..self })
    }

    /// The same embedding in which only the first part of the pairs is rotated.
    #[expect(clippy::cast_sign_loss, reason = "a part of the pairs")]
    pub(super) fn proportional(self, part: f64, factor: f64) -> Self {
        let pairs = (part.min(1.0) * self.rotated as f64 / 2.0) as usize;
        Self { scaling: Some(RopeScaling::Proportional { pairs, factor }), ..self }
    }

    /// The embedding for sequences of up to `context` tokens.
    pub fn table(&self, context: usize) -> RopeTable {
        let dimensions = self.rotated as f64;
        let plain = |pair: usize| self.theta.powf(-(2.0 * pair as f64) / dimensions);
        let frequency: Box<dyn Fn(usize) -> f64> = match &self.scaling {
            None => Box::new(plain),
            Some(RopeScaling::Linear(factor)) => Box::new(move |pair| plain(pair) / factor),
            Some(RopeScaling::Llama3(llama)) => Box::new(move |pair| llama.stretched(plain(pair))),
            Some(RopeScaling::Yarn(yarn)) => {
                let (low, high) = yarn.bounds(self.rotated, self.theta);
                Box::new(move |pair| {
                    let divided = ((pair as f64 - low) / (high - low)).clamp(0.0, 1.0);
                    plain(pair) / yarn.factor * divided + plain(pair) * (1.0 - divided)
                })
            }
            Some(RopeScaling::LongRope(long)) => {
                Box::new(move |pair| plain(pair) / long.factors(context)[pair])
            }
            Some(RopeScaling::Proportional { pairs, factor }) => {
                Box::new(move |pair| if pair < *pairs { plain(pair) / factor } else { 0.0 })
            }
        };
        let factor = match &self.scaling {
            Some(RopeScaling::Yarn(yarn)) => yarn.attention_factor as f32,
            Some(RopeScaling::LongRope(long)) => long.attention_factor as f32,
            _ => 1.0,
        };
        let frequencies = (0..self.rotated / 2).map(|pair| frequency(pair) as f32).collect();
        RopeTable { frequencies, factor, query_scaling: self.query_scaling }
    }
}

impl LongRopeScaling {
    fn from_fields(
        fields: Fields<'_>,
        original: usize,
        context: usize,
        pairs: usize,
    ) -> Result<Self, LoadError> {
        let factor = fields.positive("factor")?.unwrap_or(context as f64 / original as f64);
        let attention_factor = match fields.positive("attention_factor")? {
            Some(attention_factor) => attention_factor,
            None if factor <= 1.0 || original == 1 => 1.0,
            None => (1.0 + factor.ln() / (original as f64).ln()).sqrt(),
        };
        Ok(Self {
            short: fields.positives("short_factor", pairs)?,
            long: fields.positives("long_factor", pairs)?,
            original_context: original,
            attention_factor,
        })
    }

    fn factors(&self, context: usize) -> &[f64] {
        if context > self.original_context { &self.long } else { &self.short }
    }
}

impl Llama3Scaling {
    fn from_fields(fields: Fields<'_>, original: usize) -> Result<Self, LoadError> {
        let number = |name| fields.required_positive(name);
        let (low, high) = (number("low_freq_factor")?, number("high_freq_factor")?);
        if high <= low {
            let reason = format!("\"high_freq_factor\" ({high}) must be above \"low_freq_factor\" ({low})");
            return Err(fields.invalid(reason));
        }
        Ok(Self {
            factor: number("factor")?,
            original_context: original as f64,
            low_freq_factor: low,
            high_freq_factor: high,
        })
    }

    fn stretched(&self, frequency: f64) -> f64 {
        let fits = self.original_context * frequency / (2.0 * PI);
        let kept = (fits - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor);
        let kept = kept.clamp(0.0, 1.0);
        frequency * kept + frequency / self.factor * (1.0 - kept)
    }
}

impl YarnScaling {
    fn from_fields(fields: Fields<'_>, original: usize, context: usize) -> Result<Self, LoadError> {
        let factor = fields.positive("factor")?.unwrap_or(context as f64 / original as f64);
        let magnitude = |scale: f64| magnitude(factor, scale);
        // Zero counts as absent here.
        let scale = |name| match fields.get(name).and_then(Value::as_f64) {
            Some(0.0) => Ok(None),
            _ => fields.positive(name),
        };
        let all_dimensions = scale("mscale_all_dim")?;
        let attention_factor = match fields.positive("attention_factor")? {
            Some(attention_factor) => attention_factor,
            None => match (scale("mscale")?, all_dimensions) {
                (Some(one), Some(all)) => magnitude(one) / magnitude(all),
                _ => magnitude(1.0),
            },
        };
        Ok(Self {
            factor,
            original_context: original as f64,
            beta_fast: fields.positive("beta_fast")?.unwrap_or(32.0),
            beta_slow: fields.positive("beta_slow")?.unwrap_or(1.0),
            truncate: fields.flag("truncate")?.unwrap_or(true),
            attention_factor,
            score_factor: all_dimensions.map_or(1.0, |all| magnitude(all).powi(2)),
        })
    }

    /// (first, last) pair of dimensions between which frequencies are blended.
    fn bounds(&self, head_dim: usize, theta: f64) -> (f64, f64) {
        let pair_of = |rotations: f64| {
            head_dim as f64 * (self.original_context / (rotations * 2.0 * PI)).ln() / (2.0 * theta.ln())
        };
        let (mut low, mut high) = (pair_of(self.beta_fast), pair_of(self.beta_slow));
        if self.truncate {
            (low, high) = (low.floor(), high.ceil());
        }
        let (low, high) = (low.max(0.0), high.min(head_dim as f64 - 1.0));
        (low, if high - low < 0.001 { low + 0.001 } else { high })
    }
}

/// Square root of the factor by which scores of a stretched context should grow.
fn magnitude(factor: f64, scale: f64) -> f64 {
    if factor <= 1.0 { 1.0 } else { 0.1 * scale * factor.ln() + 1.0 }
}
