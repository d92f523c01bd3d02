//! The efforts of reasoning that a model tells apart, for clients that let people choose one.

use prompt::EFFORTS;

use super::Model;

/// Effort that speaks for all those that are alike.
const MIDDLE: &str = "medium";

/// Efforts that differ in the prompt or in the bound on reasoning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Efforts {
    /// The efforts, least first.
    pub levels: Vec<EffortLevel>,
    /// The one that is like a request without an effort; if none is, a middle one.
    pub default: Option<&'static str>,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffortLevel {
    /// Name that a request gives.
    pub effort: &'static str,
    /// Most tokens of reasoning, where the operator bounds them.
    pub budget: Option<u32>,
}

impl Model {
    /// Efforts of reasoning that make a difference. Those that the chat template refuses are left
    /// out.
    pub fn efforts(&self) -> Efforts {
        let prompts = self.served.format.efforts();
        let budget = |effort| self.served.source.generates().then(|| self.served.budget_of(effort)).flatten();
        let (middle, others): (Vec<_>, Vec<_>) =
            prompts.taken.iter().partition(|(effort, _)| *effort == MIDDLE);
        let mut shown: Vec<(&'static str, (&String, Option<u32>))> = Vec::new();
        for (effort, prompt) in middle.into_iter().chain(others) {
            let effect = (prompt, budget(effort));
            if shown.iter().all(|(_, other)| *other != effect) {
                shown.push((effort, effect));
            }
        }
        let unset = prompts.unset.as_ref().map(|prompt| (prompt, budget("default")));
        let default = shown.iter().find(|(_, effect)| Some(*effect) == unset);
        let default = default.or_else(|| shown.iter().find(|(effort, _)| *effort != "none"));
        let default = default.or(shown.first()).map(|(effort, _)| *effort);
        shown.sort_by_key(|(effort, _)| EFFORTS.iter().position(|known| known == effort));
        let levels = shown.into_iter().map(|(effort, (_, budget))| EffortLevel { effort, budget });
        Efforts { levels: levels.collect(), default }
    }
}
