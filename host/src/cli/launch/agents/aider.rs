//! aider. What stands in its files or in a project's `.env` comes before variables, and not before
//! arguments. A file beside the user's own says how long the context is.

use serde_json::json;

use super::{About, Endpoint, Setting, TextFile, Told};

pub(super) const AIDER: About = About::new("aider", "uv tool install aider-chat", tell);

fn tell(endpoint: &Endpoint) -> Told {
    let model = format!("openai/{}", endpoint.model);
    let roles = ["--model", "--weak-model", "--editor-model"];
    let mut arguments = vec!["--openai-api-base".to_owned(), endpoint.openai_url()];
    arguments.extend(roles.into_iter().flat_map(|role| [role.to_owned(), model.clone()]));
    // It would warn of a model that it doesn't know, and ask whether to read about that.
    arguments.push("--no-show-model-warnings".to_owned());
    let file = endpoint.limits().map(|(context, output)| {
        let limits = json!({"max_input_tokens": context - output, "max_output_tokens": output});
        TextFile::new("aider", "json", json!({model: limits}).to_string())
    });
    arguments.extend(file.iter().flat_map(|file| ["--model-metadata-file".to_owned(), file.path()]));
    Told { arguments, variables: vec![("AIDER_OPENAI_API_KEY", Setting::Key)], file }
}
