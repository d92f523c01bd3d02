//! GitHub's Copilot CLI with a provider of the user's own, which needs no GitHub account.

use super::{About, Endpoint, Setting, Told, text};

pub(super) const COPILOT: About = About::new("copilot", "npm install -g @github/copilot", tell);

fn tell(endpoint: &Endpoint) -> Told {
    let mut variables = vec![
        ("COPILOT_PROVIDER_BASE_URL", text(endpoint.openai_url())),
        ("COPILOT_PROVIDER_TYPE", text("openai")),
        ("COPILOT_PROVIDER_WIRE_API", text("completions")),
        ("COPILOT_PROVIDER_BEARER_TOKEN", Setting::Key),
    ];
    // Keys and headers for the user's other providers are not sent.
    let others = ["COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_API_KEY_COMMAND", "COPILOT_PROVIDER_HEADERS"];
    variables.extend(others.map(|other| (other, text(""))));
    let names = ["COPILOT_MODEL", "COPILOT_PROVIDER_MODEL_ID", "COPILOT_PROVIDER_WIRE_MODEL"];
    variables.extend(names.map(|name| (name, text(&endpoint.model))));
    if let Some((context, output)) = endpoint.limits() {
        variables.push(("COPILOT_PROVIDER_MAX_PROMPT_TOKENS", text((context - output).to_string())));
        variables.push(("COPILOT_PROVIDER_MAX_OUTPUT_TOKENS", text(output.to_string())));
    }
    Told { variables, ..Told::default() }
}
