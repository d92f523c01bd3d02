//! Progress of an item of a tool that the server runs, reported by an event that has only the item's
//! id and place.

use super::{At, Event};

macro_rules! progress {
    ($($progress:ident = $kind:literal,)+) => {
        /// What an item has reached.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(in crate::responses) enum ItemProgress {
            $($progress,)+
        }

        impl ItemProgress {
            pub(in crate::responses) const ALL: &[Self] = &[$(Self::$progress),+];

            fn kind(self) -> &'static str {
                match self {
                    $(Self::$progress => $kind,)+
                }
            }
        }
    };
}

progress! {
    ListBegun = "response.mcp_list_tools.in_progress",
    ListCompleted = "response.mcp_list_tools.completed",
    ListFailed = "response.mcp_list_tools.failed",
    McpBegun = "response.mcp_call.in_progress",
    McpCompleted = "response.mcp_call.completed",
    McpFailed = "response.mcp_call.failed",
    SearchBegun = "response.web_search_call.in_progress",
    Searching = "response.web_search_call.searching",
    SearchCompleted = "response.web_search_call.completed",
    CodeBegun = "response.code_interpreter_call.in_progress",
    Interpreting = "response.code_interpreter_call.interpreting",
    CodeCompleted = "response.code_interpreter_call.completed",
}

/// The event of that progress.
pub(in crate::responses) fn progress(progress: ItemProgress, at: At<'_>) -> Event<At<'_>> {
    Event { kind: progress.kind(), body: at }
}
