//! aider. What stands in its files or in a project's `.env` comes before variables, and not before
//! arguments.

use super::{About, Endpoint, Setting, Told};

pub(super) const AIDER: About = About::new("aider", "uv tool install aider-chat", tell);

fn tell(endpoint: &Endpoint) -> Told {
    let model = format!("openai/{}", endpoint.model);
    let roles = ["--model", "--weak-model", "--editor-model"];
    let mut arguments = vec!["--openai-api-base".to_owned(), endpoint.openai_url()];
    arguments.extend(roles.into_iter().flat_map(|role| [role.to_owned(), model.clone()]));
    // It would warn of a model that it has no price of, and ask whether to read about that.
    arguments.push("--no-show-model-warnings".to_owned());
    Told { arguments, variables: vec![("AIDER_OPENAI_API_KEY", Setting::Key)], file: None }
}
