//! OpenAI's Codex CLI: a provider beside the user's own. Codex asks this server for its catalog
//! (`GET /v1/models?client_version=…`) if the provider has its address, and a key.

use serde_json::Value;

use super::{About, Endpoint, KEY, Setting, Told};

/// Tokens of context that Codex needs: its first prompt takes half of them.
pub(in crate::cli) const LEAST_CONTEXT: u32 = 32_768;

pub(super) const CODEX: About =
    About { least_context: LEAST_CONTEXT, ..About::new("codex", "npm install -g @openai/codex", tell) };

fn tell(endpoint: &Endpoint) -> Told {
    // A text in JSON is one in TOML, too.
    let quoted = |text: &str| Value::from(text).to_string();
    let url = endpoint.openai_url();
    let provider = format!(
        "model_providers.sluice={{name=\"Sluice\",base_url={},wire_api=\"responses\",env_key=\"{KEY}\",model_catalog_url={}}}",
        quoted(&url),
        quoted(&format!("{url}/models"))
    );
    let mut settings = vec!["model_provider=\"sluice\"".to_owned(), provider];
    settings.push(format!("model={}", quoted(&endpoint.model)));
    // For a server without a catalog, and a Codex that asks for none.
    settings.extend(endpoint.context.map(|context| format!("model_context_window={context}")));
    let arguments = settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]).collect();
    Told { arguments, variables: vec![(KEY, Setting::Key)], file: None }
}
