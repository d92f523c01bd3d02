//! Cline's CLI: a file with providers in place of the user's, and no hub, a process that would
//! outlive this run and go on with that file.

use serde_json::json;

use super::{About, Endpoint, Setting, TextFile, Told, text};

pub(super) const CLINE: About = About::new("cline", "npm install -g cline", tell);

/// Cline's name for servers that are like `OpenAI`'s.
const PROVIDER: &str = "openai-compatible";

fn tell(endpoint: &Endpoint) -> Told {
    let model = endpoint.model.as_str();
    let mut server = json!({"provider": PROVIDER, "model": model, "baseUrl": endpoint.openai_url()});
    if let Some(context) = endpoint.context {
        server["contextWindow"] = context.into();
    }
    let providers = json!({
        "version": 1,
        "lastUsedProvider": PROVIDER,
        "modes": {},
        "providers": {
            PROVIDER: {"settings": server, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"},
        },
    });
    let file = TextFile::new("cline", "json", providers.to_string());
    let variables = vec![
        ("CLINE_PROVIDER_SETTINGS_PATH", text(file.path())),
        ("CLINE_SESSION_BACKEND_MODE", text("local")),
        ("OPENAI_API_KEY", Setting::Key),
    ];
    let arguments = ["--provider", PROVIDER, "--model", model].map(str::to_owned).to_vec();
    Told { arguments, variables, file: Some(file) }
}
