//! The efforts of reasoning that a model tells apart, for clients that let people choose one.

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
        let budget = |effort| self.takes_masks().then(|| self.served.budget_of(effort)).flatten();
        let effects: Vec<_> =
            prompts.taken.iter().map(|(effort, prompt)| (*effort, (prompt, budget(effort)))).collect();
        let like = |effect| {
            let mut alike = effects.iter().filter(|(_, other)| *other == effect).map(|(effort, _)| *effort);
            let first = alike.next();
            if alike.any(|effort| effort == MIDDLE) { Some(MIDDLE) } else { first }
        };
        let shown = effects.iter().filter(|(effort, effect)| like(*effect) == Some(*effort));
        let levels: Vec<_> =
            shown.map(|(effort, (_, budget))| EffortLevel { effort, budget: *budget }).collect();
        let middle = || {
            let mut thinking = levels.iter().filter(|level| level.effort != "none");
            let level = thinking.clone().find(|level| level.effort == MIDDLE).or_else(|| thinking.next());
            level.or(levels.first()).map(|level| level.effort)
        };
        let default = prompts.unset.as_ref().and_then(|prompt| like((prompt, budget("default"))));
        Efforts { default: default.or_else(middle), levels }
    }
}
