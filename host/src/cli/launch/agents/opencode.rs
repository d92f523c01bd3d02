//! opencode, and Kilo Code's CLI, which is made from it: a provider beside the user's own, in a
//! variable that is merged over the files.

use serde_json::json;

use super::{About, Endpoint, KEY, Setting, Told, text};

/// What both replace in their configuration.
const SUBSTITUTED: &[&str] = &["{env:", "{file:"];

pub(super) const OPENCODE: About = About {
    substituted: SUBSTITUTED,
    ..About::new("opencode", "npm install -g opencode-ai", |endpoint| {
        tell("OPENCODE_CONFIG_CONTENT", endpoint)
    })
};

pub(super) const KILO: About = About {
    substituted: SUBSTITUTED,
    ..About::new("kilo", "npm install -g @kilocode/cli", |endpoint| tell("KILO_CONFIG_CONTENT", endpoint))
};

fn tell(variable: &'static str, endpoint: &Endpoint) -> Told {
    let server = json!({"baseURL": endpoint.openai_url(), "apiKey": format!("{{env:{KEY}}}")});
    // It needs both bounds or none, and reserves the second for the answer.
    let limit = endpoint.limits().map(|(context, output)| json!({"context": context, "output": output}));
    let about = limit.map_or_else(|| json!({}), |limit| json!({"limit": limit}));
    let model = endpoint.model.as_str();
    let chosen = format!("sluice/{model}");
    let config = json!({
        "provider": {"sluice": {
            "npm": "@ai-sdk/openai-compatible", "name": "Sluice", "options": server, "models": {model: about},
        }},
        "model": chosen, "small_model": chosen,
    });
    let variables = vec![(variable, text(config.to_string())), (KEY, Setting::Key)];
    Told { variables, ..Told::default() }
}
