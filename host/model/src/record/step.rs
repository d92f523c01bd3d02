//! Conversion between an engine's steps and the lines that a record has of them, without loss of
//! what becomes of a step.

use std::time::Duration;

use engine::{Finish, GenerationError, Logprobs, MaskError, PlayedMismatch, StepOutput, Token};

use super::line::{ErrorLine, FinishLine, LogprobsLine, StepLine};

impl StepLine {
    /// The line of a step; `None` is an engine that ended without a word.
    pub(crate) fn of(ms: u64, generation: u32, step: Option<&StepOutput>) -> Self {
        let Some(step) = step else {
            return Self { ms, generation, finish: Some(FinishLine::Died), ..Self::default() };
        };
        let has_logprobs = step.tokens.iter().any(|token| token.logprobs.is_some());
        let logprobs = |token: &Token| token.logprobs.as_deref().map(written);
        Self {
            ms,
            generation,
            ids: step.tokens.iter().map(|token| token.id).collect(),
            logprobs: if has_logprobs { step.tokens.iter().map(logprobs).collect() } else { Vec::new() },
            prompt: step.prompt_tokens.iter().map(|token| (token.id, logprobs(token))).collect(),
            cached: step.cached_tokens,
            untold: step.untold_tokens,
            dropped: 0,
            finish: step.finish.as_ref().map(finish),
            stop_logprobs: step.stop_logprobs.as_deref().map(written),
        }
    }

    /// The step; none if the engine ended without a word.
    pub(crate) fn into_step(self) -> Option<StepOutput> {
        let mut logprobs = self.logprobs.into_iter();
        let token =
            |(id, given): (u32, Option<LogprobsLine>)| Token { id, logprobs: given.map(read).map(Box::new) };
        let finish = match self.finish {
            Some(FinishLine::Died) => return None,
            None => None,
            Some(FinishLine::Stop(id)) => Some(Finish::Stop(id)),
            Some(FinishLine::Length) => Some(Finish::Length),
            Some(FinishLine::Error(error)) => Some(Finish::Error(read_error(error))),
        };
        Some(StepOutput {
            tokens: self.ids.into_iter().map(|id| token((id, logprobs.next().flatten()))).collect(),
            finish,
            stop_logprobs: self.stop_logprobs.map(read).map(Box::new),
            prompt_tokens: self.prompt.into_iter().map(token).collect(),
            cached_tokens: self.cached,
            untold_tokens: self.untold,
            queued: Duration::ZERO,
            at: None,
        })
    }
}

fn finish(finish: &Finish) -> FinishLine {
    match finish {
        Finish::Stop(id) => FinishLine::Stop(*id),
        Finish::Length => FinishLine::Length,
        Finish::Refused(error) => FinishLine::Error(ErrorLine::Engine(error.to_string())),
        Finish::Error(error) => FinishLine::Error(match error {
            GenerationError::Mask(MaskError::TooComplex(bound)) => ErrorLine::TooComplex(bound.clone()),
            GenerationError::Mask(MaskError::TooSlow { tokens, .. }) => ErrorLine::TooSlow(*tokens),
            GenerationError::Mask(MaskError::Unsatisfiable) => ErrorLine::Unsatisfiable,
            GenerationError::Mask(MaskError::NoMemory) => ErrorLine::NoMemory,
            GenerationError::Mismatch(mismatch) => {
                let PlayedMismatch { before, token, is_complete } = (**mismatch).clone();
                ErrorLine::Mismatch { before, token, is_complete }
            }
            error => ErrorLine::Engine(error.to_string()),
        }),
    }
}

fn read_error(error: ErrorLine) -> GenerationError {
    match error {
        ErrorLine::TooComplex(bound) => MaskError::TooComplex(bound).into(),
        ErrorLine::TooSlow(tokens) => MaskError::TooSlow { tokens, taken: Duration::ZERO }.into(),
        ErrorLine::Unsatisfiable => MaskError::Unsatisfiable.into(),
        ErrorLine::NoMemory => MaskError::NoMemory.into(),
        ErrorLine::Mismatch { before, token, is_complete } => {
            GenerationError::Mismatch(Box::new(PlayedMismatch { before, token, is_complete }))
        }
        ErrorLine::Engine(text) => GenerationError::Upstream(text),
    }
}

/// A 64-bit float has every 32-bit one, so its decimal digits give back the same number.
fn written(logprobs: &Logprobs) -> LogprobsLine {
    let number = |number: f32| number.is_finite().then(|| f64::from(number));
    (number(logprobs.chosen), logprobs.top.iter().map(|(id, value)| (*id, number(*value))).collect())
}

fn read((chosen, top): LogprobsLine) -> Logprobs {
    #[expect(clippy::cast_possible_truncation, reason = "it was a 32-bit float before")]
    let number = |number: Option<f64>| number.map_or(f32::NEG_INFINITY, |number| number as f32);
    Logprobs { chosen: number(chosen), top: top.into_iter().map(|(id, value)| (id, number(value))).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_back_from_their_lines() {
        let logprobs = |chosen| {
            Some(Box::new(Logprobs { chosen, top: vec![(1, chosen), (2, f32::NEG_INFINITY), (3, -0.1)] }))
        };
        let token = |id, logprobs| Token { id, logprobs };
        let mut steps = vec![StepOutput {
            tokens: vec![token(7, logprobs(-1.3e-7)), token(8, None)],
            finish: Some(Finish::Stop(9)),
            stop_logprobs: logprobs(-2.5),
            prompt_tokens: vec![token(5, logprobs(f32::MIN_POSITIVE))],
            cached_tokens: 3,
            untold_tokens: 1,
            queued: Duration::ZERO,
            at: None,
        }];
        let mismatch = PlayedMismatch { before: vec![1], token: None, is_complete: true };
        for error in [
            MaskError::TooComplex("x".to_owned()).into(),
            MaskError::TooSlow { tokens: 5, taken: Duration::ZERO }.into(),
            MaskError::Unsatisfiable.into(),
            MaskError::NoMemory.into(),
            GenerationError::Mismatch(Box::new(mismatch)),
            GenerationError::Upstream("gone".to_owned()),
        ] {
            steps.push(StepOutput { finish: Some(Finish::Error(error)), ..StepOutput::default() });
        }
        for step in steps {
            let line = StepLine::of(1, 0, Some(&step));
            let text = serde_json::to_string(&line).unwrap();
            assert_eq!(serde_json::from_str::<StepLine>(&text).unwrap().into_step(), Some(step), "{text}");
        }
        assert_eq!(StepLine::of(1, 0, None).into_step(), None);
    }
}
