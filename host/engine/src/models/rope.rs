//! Rotary embedding: the frequencies of each pair of dimensions, plain, stretched by `YaRN` (Peng
//! et al. 2023, arXiv:2309.00071), or stretched as Llama 3.1 does. Computed in f64, rounded once.
#![expect(clippy::cast_precision_loss, reason = "dimensions and contexts are far below 2⁵²")]
#![expect(clippy::cast_possible_truncation, reason = "frequencies are rounded to f32")]

use std::f64::consts::PI;

use serde_json::Value;

use super::LoadError;
use super::fields::Fields;

/// Parameters of the rotary embedding.
#[derive(Debug, Clone, PartialEq)]
pub struct RopeSpec {
    /// Base of the wavelengths.
    pub theta: f64,
    /// Stretching of a model trained on shorter contexts.
    pub scaling: Option<RopeScaling>,
}

/// Ways of stretching the frequencies to a longer context.
#[derive(Debug, Clone, PartialEq)]
pub enum RopeScaling {
    /// By ranges of dimensions.
    Yarn(YarnScaling),
    /// By ranges of wavelengths.
    Llama3(Llama3Scaling),
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
    pub(super) fn from_fields(fields: Fields<'_>, context: usize) -> Result<Self, LoadError> {
        const DEFAULT_THETA: f64 = 10_000.0;
        fields.only_number("partial_rotary_factor", 1.0)?;
        let (name, scaling) = match fields.object("rope_parameters", "rope_parameters.")? {
            Some(parameters) => ("rope_parameters.", Some(parameters)),
            None => ("rope_scaling.", fields.object("rope_scaling", "rope_scaling.")?),
        };
        let inner = scaling.map(|s| s.positive("rope_theta")).transpose()?.flatten();
        let theta = inner.map_or_else(|| fields.positive("rope_theta"), |theta| Ok(Some(theta)))?;
        let theta = theta.unwrap_or(DEFAULT_THETA);
        let Some(scaling) = scaling else { return Ok(Self { theta, scaling: None }) };
        scaling.only_number("partial_rotary_factor", 1.0)?;
        let kind = scaling.text("rope_type")?.map_or_else(|| scaling.text("type"), |kind| Ok(Some(kind)))?;
        match kind.unwrap_or("default") {
            "default" => Ok(Self { theta, scaling: None }),
            "llama3" => {
                let scaling = Llama3Scaling::from_fields(scaling, context)?;
                Ok(Self { theta, scaling: Some(RopeScaling::Llama3(scaling)) })
            }
            "yarn" if theta > 1.0 => {
                let scaling = YarnScaling::from_fields(scaling, context)?;
                Ok(Self { theta, scaling: Some(RopeScaling::Yarn(scaling)) })
            }
            "yarn" => Err(fields.invalid(format!("yarn needs a \"rope_theta\" above 1, found {theta}"))),
            other => {
                let reason = format!(
                    "\"{name}rope_type\" {other:?} is not supported; supported: \"default\", \"llama3\", \"yarn\""
                );
                Err(fields.invalid(reason))
            }
        }
    }

    /// (radians per position of each pair of dimensions `[head_dim / 2]`, factor of cosines and
    /// sines).
    pub fn frequencies(&self, head_dim: usize) -> (Vec<f32>, f32) {
        let pairs = head_dim / 2;
        let plain = |pair: usize| self.theta.powf(-(2.0 * pair as f64) / head_dim as f64);
        let pairs = 0..pairs;
        match &self.scaling {
            None => (pairs.map(|pair| plain(pair) as f32).collect(), 1.0),
            Some(RopeScaling::Llama3(llama)) => {
                (pairs.map(|pair| llama.stretched(plain(pair)) as f32).collect(), 1.0)
            }
            Some(RopeScaling::Yarn(yarn)) => {
                let (low, high) = yarn.bounds(head_dim, self.theta);
                let frequency = |pair: usize| {
                    let divided = ((pair as f64 - low) / (high - low)).clamp(0.0, 1.0);
                    (plain(pair) / yarn.factor * divided + plain(pair) * (1.0 - divided)) as f32
                };
                (pairs.map(frequency).collect(), yarn.attention_factor as f32)
            }
        }
    }
}

impl Llama3Scaling {
    fn from_fields(fields: Fields<'_>, context: usize) -> Result<Self, LoadError> {
        let original =
            fields.optional_size("original_max_position_embeddings", 1..=1 << 26)?.unwrap_or(context);
        let number = |name| fields.positive(name)?.ok_or_else(|| fields.absent(name));
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
    fn from_fields(fields: Fields<'_>, context: usize) -> Result<Self, LoadError> {
        let original =
            fields.optional_size("original_max_position_embeddings", 1..=1 << 26)?.unwrap_or(context);
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
