//! Qwen Code.

use super::{About, Endpoint, Setting, Told, text};

pub(super) const QWEN: About = About::new("qwen", "npm install -g @qwen-code/qwen-code", tell);

fn tell(endpoint: &Endpoint) -> Told {
    let variables = vec![
        ("OPENAI_BASE_URL", text(endpoint.openai_url())),
        ("OPENAI_API_KEY", Setting::Key),
        ("OPENAI_MODEL", text(&endpoint.model)),
    ];
    // The user's settings come before the variable of the model, and not before its argument.
    let arguments = ["--auth-type", "openai", "--model", &endpoint.model].map(str::to_owned).to_vec();
    Told { arguments, variables, file: None }
}
