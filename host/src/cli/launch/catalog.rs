//! The file that describes the model to Codex, which otherwise gives an unknown model neither its
//! patch tool nor the right context. It is removed when this value goes, unless it is kept.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::json;
use system::private::create_private;
use system::random::hex;

use super::agents::{Agent, Endpoint};

pub(super) struct Catalog {
    path: PathBuf,
    is_kept: bool,
}

impl Catalog {
    /// Writes the file for an agent that needs one; none where the context isn't known.
    pub(super) fn for_agent(agent: Agent, endpoint: &Endpoint) -> anyhow::Result<Option<Self>> {
        let Endpoint { model, context, .. } = endpoint;
        let (Agent::Codex, Some(context)) = (agent, context) else { return Ok(None) };
        let path = std::env::temp_dir().join(format!("sluice-codex-{}.json", hex::<8>()));
        let entry = json!({
            "slug": model,
            "display_name": model,
            "description": "A model that Sluice serves",
            "visibility": "list",
            "supported_in_api": true,
            "priority": 1,
            "base_instructions": INSTRUCTIONS,
            "shell_type": "unified_exec",
            "apply_patch_tool_type": "freeform",
            "supports_parallel_tool_calls": true,
            "experimental_supported_tools": [],
            "supports_reasoning_summaries": true,
            "default_reasoning_level": "medium",
            "supported_reasoning_levels": [{"effort": "medium", "description": "The model's own"}],
            "support_verbosity": false,
            "truncation_policy": {"mode": "tokens", "limit": 10_000},
            "context_window": context,
        });
        let text = json!({"models": [entry]}).to_string();
        create_private(&path, &[text.as_bytes()]).with_context(|| path.display().to_string())?;
        Ok(Some(Self { path, is_kept: false }))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the file where it is.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Catalog {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// What Codex tells the model first, before its own description of the folder and of permissions.
const INSTRUCTIONS: &str = "You are a coding agent that works in a folder of the user's, by means of the tools you \
    are given. Read files before you change them, make small changes that do what is asked and no more, change files \
    with the patch tool, and run the project's tests where there are some. At the end say in a few sentences what you \
    did and what is open.";
