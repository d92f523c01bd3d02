//! How templates take the content of messages, by the role of their authors.

use super::conversation::Role;

/// Form in which a template takes the content of a role's messages (`render/probe_content.rs` finds
/// it).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ContentForm {
    /// Strings; parts are joined.
    #[default]
    Text,
    /// Lists of parts; a text is the only part.
    Parts,
    /// Lists whose first part alone is shown; everything is joined to it.
    OnePart,
    /// Strings and lists, each as the client sent it.
    AsSent,
}

/// Form in which a template takes the content of each role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ContentForms {
    /// Of instructions, those by the application included.
    pub(super) system: ContentForm,
    pub(super) user: ContentForm,
    pub(super) assistant: ContentForm,
    pub(super) tool: ContentForm,
}

impl ContentForms {
    /// The form for messages of `role`.
    pub(super) fn of(self, role: Role) -> ContentForm {
        match role {
            Role::System | Role::Developer => self.system,
            Role::User => self.user,
            Role::Assistant => self.assistant,
            Role::Tool => self.tool,
        }
    }
}
