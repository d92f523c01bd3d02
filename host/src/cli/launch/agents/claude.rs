//! Anthropic's Claude Code: every role has the model, and the key of an Anthropic account is not
//! sent.

use super::{About, Endpoint, Setting, Told, text};

pub(super) const CLAUDE: About = About::new("claude", "npm install -g @anthropic-ai/claude-code", tell);

fn tell(Endpoint { url, model, context }: &Endpoint) -> Told {
    let mut variables = vec![
        ("ANTHROPIC_BASE_URL", text(url)),
        ("ANTHROPIC_AUTH_TOKEN", Setting::Key),
        ("ANTHROPIC_API_KEY", text("")),
        // A line at the head of each prompt that differs each time: no prefix would be cached.
        ("CLAUDE_CODE_ATTRIBUTION_HEADER", text("0")),
        // How many tokens are left, which stands in each prompt anew.
        ("CLAUDE_CODE_TOTAL_TOKENS_REMINDER", text("off")),
    ];
    let roles = [
        "ANTHROPIC_MODEL",
        "ANTHROPIC_DEFAULT_OPUS_MODEL",
        "ANTHROPIC_DEFAULT_SONNET_MODEL",
        "ANTHROPIC_DEFAULT_HAIKU_MODEL",
        "CLAUDE_CODE_SUBAGENT_MODEL",
    ];
    variables.extend(roles.map(|role| (role, text(model))));
    // It takes an unknown model's context for a million tokens, and would compact too late.
    variables.extend(context.map(|context| ("CLAUDE_CODE_MAX_CONTEXT_TOKENS", text(context.to_string()))));
    Told { arguments: vec!["--model".to_owned(), model.clone()], variables, file: None }
}
