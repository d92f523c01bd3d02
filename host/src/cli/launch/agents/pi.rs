//! pi: an extension that registers a provider. It reads what it needs from variables, so that its
//! text is always the same.

use super::{About, Endpoint, KEY, Setting, TextFile, Told, text};

pub(super) const PI: About = About::new("pi", "npm install -g @earendil-works/pi-coding-agent", tell);

fn tell(endpoint: &Endpoint) -> Told {
    let model = endpoint.model.as_str();
    let mut variables =
        vec![("SLUICE_URL", text(endpoint.openai_url())), ("SLUICE_MODEL", text(model)), (KEY, Setting::Key)];
    if let Some((context, output)) = endpoint.limits() {
        variables.push(("SLUICE_CONTEXT", text(context.to_string())));
        variables.push(("SLUICE_OUTPUT", text(output.to_string())));
    }
    let file = TextFile::new("pi", "mjs", EXTENSION.to_owned());
    let path = file.path();
    let arguments =
        ["--extension", &path, "--provider", "sluice", "--model", model].map(str::to_owned).to_vec();
    Told { arguments, variables, file: Some(file) }
}

/// Where the context isn't known, its bounds are those that pi itself takes for an unknown model.
const EXTENSION: &str = r#"const { SLUICE_URL: baseUrl, SLUICE_MODEL: id, SLUICE_CONTEXT, SLUICE_OUTPUT } = process.env;
const model = {
  id,
  name: id,
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: Number(SLUICE_CONTEXT ?? 128000),
  maxTokens: Number(SLUICE_OUTPUT ?? 16384),
};

export default (pi) =>
  pi.registerProvider("sluice", {
    name: "Sluice",
    baseUrl,
    apiKey: "$SLUICE_KEY",
    api: "openai-completions",
    models: [model],
  });
"#;
