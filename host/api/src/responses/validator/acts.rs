//! Tables of the kinds of items and parts, and of the events inside items.

use super::logprobs;
use super::shape::{CheckedObject, FieldType};
use super::{Fault, Rule};

/// A list of parts in an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Series {
    Content,
    Summary,
}

impl Series {
    /// Field of the item that holds the parts.
    pub(super) fn field(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Summary => "summary",
        }
    }

    /// Name of the events of this series' parts, before `.added` and `.done`.
    pub(super) fn events(self) -> &'static str {
        match self {
            Self::Content => "response.content_part",
            Self::Summary => "response.reasoning_summary_part",
        }
    }

    /// Field of events that holds a part's index.
    pub(super) fn index(self) -> &'static str {
        match self {
            Self::Content => "content_index",
            Self::Summary => "summary_index",
        }
    }
}

/// A kind of part: its `type`, the field of its text, its series, and whether it has
/// log-probabilities and annotations.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PartKind {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    pub(super) series: Series,
    pub(super) annotated: bool,
}

static PARTS: [PartKind; 4] = [
    PartKind { name: "output_text", text: "text", series: Series::Content, annotated: true },
    PartKind { name: "refusal", text: "refusal", series: Series::Content, annotated: false },
    PartKind { name: "reasoning_text", text: "text", series: Series::Content, annotated: false },
    PartKind { name: "summary_text", text: "text", series: Series::Summary, annotated: false },
];

impl PartKind {
    /// The event that ends the part's text.
    pub(super) fn text_done(&self) -> String {
        let prefix = if self.series == Series::Summary { "reasoning_" } else { "" };
        format!("response.{prefix}{}.done", self.name)
    }

    /// The kind of parts of type `name`.
    pub(super) fn of(name: &str) -> Result<&'static Self, Fault> {
        let kind = PARTS.iter().find(|kind| kind.name == name);
        kind.ok_or_else(|| Fault::new(Rule::Vocabulary, format!("unknown part type {name:?}")))
    }
}

/// A phase of an item that is neither reasoning nor a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemPhase {
    /// Any number of `response.NAME.delta` and one `response.NAME.done`, for NAME in `events`: they
    /// write the item's field `field`.
    Written { events: &'static str, field: &'static str },
    /// One event `response.TYPE.NAME`, with one of these names.
    Progress(&'static [&'static str]),
    /// Any number of events `response.TYPE.NAME`, with this name.
    Repeated(&'static str),
    /// Any number of commands, each `response.shell_call_command.added`, any number of `.delta` and
    /// one `.done`: they write the list `commands` of the item's `action`.
    Commands,
}

impl ItemPhase {
    /// Whether events called `name` write the item's field in this phase.
    pub(super) fn writes(self, name: &str) -> bool {
        matches!(self, Self::Written { events, .. } if events == name)
    }

    /// Whether the event of this `name` is the phase.
    pub(super) fn progresses(self, name: &str) -> bool {
        match self {
            Self::Progress(names) => names.contains(&name),
            Self::Repeated(repeated) => repeated == name,
            Self::Written { .. } | Self::Commands => false,
        }
    }

    /// Whether the phase may have no event, and ends without one.
    pub(super) fn is_repeated(self) -> bool {
        matches!(self, Self::Repeated(_) | Self::Commands)
    }

    /// The event of an item of type `item` that ends the phase.
    pub(super) fn end(self, item: &str) -> String {
        match self {
            Self::Written { events, .. } => format!("response.{events}.done"),
            Self::Progress(names) => format!("response.{item}.{}", names.join(" or .")),
            Self::Repeated(name) => format!("response.{item}.{name}"),
            Self::Commands => format!("response.{COMMAND}.done"),
        }
    }
}

/// A kind of item.
#[derive(Debug)]
pub(super) struct ItemKind {
    pub(super) name: &'static str,
    /// Types of the item's parts; empty if it has no parts.
    pub(super) parts: &'static [&'static str],
    /// Phases of an item without parts.
    pub(super) phases: &'static [ItemPhase],
    /// Whether the model writes the item until it is done: then no other item may begin before.
    pub(super) model: bool,
    /// Required fields beside `id` and `type`.
    pub(super) fields: &'static [(&'static str, FieldType)],
}

const ARGUMENTS: ItemPhase = ItemPhase::Written { events: "function_call_arguments", field: "arguments" };
const INPUT: ItemPhase = ItemPhase::Written { events: "custom_tool_call_input", field: "input" };
const MCP_ARGUMENTS: ItemPhase = ItemPhase::Written { events: "mcp_call_arguments", field: "arguments" };
const CODE: ItemPhase = ItemPhase::Written { events: "code_interpreter_call_code", field: "code" };
const BEGUN: ItemPhase = ItemPhase::Progress(&["in_progress"]);
const COMPLETED: ItemPhase = ItemPhase::Progress(&["completed"]);
const COMPLETED_OR_FAILED: ItemPhase = ItemPhase::Progress(&["completed", "failed"]);
/// Name of the events of a shell's commands.
const COMMAND: &str = "shell_call_command";
const STATUS: (&str, FieldType) = ("status", FieldType::Text);
const CALL_ID: (&str, FieldType) = ("call_id", FieldType::Text);
const NAME: (&str, FieldType) = ("name", FieldType::Text);
const SERVER: (&str, FieldType) = ("server_label", FieldType::Text);
const ARGUMENTS_TEXT: (&str, FieldType) = ("arguments", FieldType::Text);
const SEARCH_ID: (&str, FieldType) = ("call_id", FieldType::OptionalText);
const EXECUTION: (&str, FieldType) = ("execution", FieldType::Text);

/// An item that the model writes, with these required fields.
const fn written(name: &'static str, fields: &'static [(&'static str, FieldType)]) -> ItemKind {
    ItemKind { name, parts: &[], phases: &[], model: true, fields }
}

/// An item of a tool that the server runs.
const fn run(name: &'static str, fields: &'static [(&'static str, FieldType)]) -> ItemKind {
    ItemKind { model: false, ..written(name, fields) }
}

#[rustfmt::skip] // A row per kind.
static ITEMS: [ItemKind; 15] = [
    written("message", &[STATUS, ("role", FieldType::Text), ("content", FieldType::List)]).parts(&["output_text", "refusal"]),
    written("reasoning", &[("summary", FieldType::List)]).parts(&["reasoning_text", "summary_text"]),
    written("function_call", &[STATUS, CALL_ID, NAME, ARGUMENTS_TEXT]).phases(&[ARGUMENTS]),
    written("custom_tool_call", &[CALL_ID, NAME, ("input", FieldType::Text)]).phases(&[INPUT]),
    written("shell_call", &[STATUS, CALL_ID, ("action", FieldType::Object)]).phases(&[ItemPhase::Commands]),
    written("local_shell_call", &[STATUS, CALL_ID, ("action", FieldType::Object)]),
    written("apply_patch_call", &[STATUS, CALL_ID, ("operation", FieldType::Object)]),
    written("tool_search_call", &[STATUS, SEARCH_ID, EXECUTION, ("arguments", FieldType::Some)]),
    written("tool_search_output", &[STATUS, SEARCH_ID, EXECUTION, ("tools", FieldType::List)]),
    written("compaction", &[("encrypted_content", FieldType::Text)]).phases(&[ItemPhase::Repeated("compacting")]),
    run("mcp_call", &[NAME, SERVER, ARGUMENTS_TEXT]).phases(&[BEGUN, MCP_ARGUMENTS, COMPLETED_OR_FAILED]),
    run("mcp_list_tools", &[SERVER, ("tools", FieldType::List)]).phases(&[BEGUN, COMPLETED_OR_FAILED]),
    written("mcp_approval_request", &[NAME, SERVER, ARGUMENTS_TEXT]),
    run("code_interpreter_call", &[STATUS, ("container_id", FieldType::Text), ("code", FieldType::OptionalText)]).phases(&[BEGUN, CODE, ItemPhase::Progress(&["interpreting"]), COMPLETED]),
    run("web_search_call", &[STATUS, ("action", FieldType::Object)]).phases(&[BEGUN, ItemPhase::Progress(&["searching"]), COMPLETED]),
];

impl ItemKind {
    const fn parts(self, parts: &'static [&'static str]) -> Self {
        Self { parts, ..self }
    }

    const fn phases(self, phases: &'static [ItemPhase]) -> Self {
        Self { phases, ..self }
    }

    /// Whether events fill the item. Other items are complete when they begin.
    pub(super) fn grows(&self) -> bool {
        !self.phases.is_empty() || !self.parts.is_empty()
    }

    /// The kind of items of type `name`.
    pub(super) fn of(name: &str) -> Result<&'static Self, Fault> {
        let kind = ITEMS.iter().find(|kind| kind.name == name);
        kind.ok_or_else(|| Fault::new(Rule::Vocabulary, format!("unknown item type {name:?}")))
    }
}

/// An event inside an item.
#[derive(Debug, Clone, Copy)]
pub(super) enum Act<'a> {
    /// A part begins.
    PartAdded(Series),
    /// The part's text grows.
    PartDelta(&'static PartKind),
    /// The part's text is complete.
    PartText(&'static PartKind),
    /// The part gets a citation.
    Annotation,
    /// The part ends.
    PartDone(Series),
    /// The item's own text grows. Holds the events' name ([`ItemPhase::Written`]).
    Delta(&'a str),
    /// The item's own text is complete. Holds the events' name, and the field of the item that has
    /// the text.
    Text(&'a str, &'static str),
    /// A command of a shell's call begins, grows or is complete. Holds which of them.
    Command(&'a str),
    /// An item makes progress. Holds the item's type, and the name of the progress.
    Progress(&'a str, &'a str),
}

impl<'a> Act<'a> {
    /// The act of events of type `kind`; `None` if the protocol has no such event.
    pub(super) fn of(kind: &'a str) -> Option<Self> {
        let name = kind.strip_prefix("response.")?;
        match name {
            "content_part.added" => return Some(Self::PartAdded(Series::Content)),
            "content_part.done" => return Some(Self::PartDone(Series::Content)),
            "reasoning_summary_part.added" => return Some(Self::PartAdded(Series::Summary)),
            "reasoning_summary_part.done" => return Some(Self::PartDone(Series::Summary)),
            "output_text.annotation.added" => return Some(Self::Annotation),
            _ => {}
        }
        let (subject, verb) = name.rsplit_once('.')?;
        if subject == COMMAND && matches!(verb, "added" | "delta" | "done") {
            return Some(Self::Command(verb));
        }
        let part = if subject == "reasoning_summary_text" { "summary_text" } else { subject };
        match (PartKind::of(part), verb) {
            (Ok(kind), "delta") => return Some(Self::PartDelta(kind)),
            (Ok(kind), "done") => return Some(Self::PartText(kind)),
            _ => {}
        }
        ITEMS.iter().flat_map(|kind| kind.phases.iter().map(move |phase| (kind, phase))).find_map(
            |(kind, phase)| match phase {
                ItemPhase::Written { events, .. } if *events == subject && verb == "delta" => {
                    Some(Self::Delta(subject))
                }
                ItemPhase::Written { events, field } if *events == subject && verb == "done" => {
                    Some(Self::Text(subject, field))
                }
                _ if kind.name == subject && phase.progresses(verb) => Some(Self::Progress(subject, verb)),
                _ => None,
            },
        )
    }

    /// Checks that an event has the required fields.
    pub(super) fn check_fields(self, fields: CheckedObject<'_>) -> Result<(), Fault> {
        if let Self::Command(verb) = self {
            let text = if verb == "delta" { "delta" } else { "command" };
            let place = [("output_index", FieldType::Count), ("command_index", FieldType::Count)];
            return fields.require(&[place[0], place[1], (text, FieldType::Text)]);
        }
        fields.require(&[("item_id", FieldType::Text), ("output_index", FieldType::Count)])?;
        match self {
            Self::PartAdded(series) | Self::PartDone(series) => {
                fields.require(&[(series.index(), FieldType::Count), ("part", FieldType::Object)])
            }
            Self::PartDelta(part) => {
                fields.require(&[(part.series.index(), FieldType::Count), ("delta", FieldType::Text)])?;
                Self::check_logprobs(part, fields)
            }
            Self::PartText(part) => {
                fields.require(&[(part.series.index(), FieldType::Count), (part.text, FieldType::Text)])?;
                Self::check_logprobs(part, fields)
            }
            Self::Annotation => fields.require(&[
                ("content_index", FieldType::Count),
                ("annotation_index", FieldType::Count),
                ("annotation", FieldType::Object),
            ]),
            Self::Delta(_) => fields.require(&[("delta", FieldType::Text)]),
            Self::Text(_, field) => fields.require(&[(field, FieldType::Text)]),
            Self::Progress(..) | Self::Command(_) => Ok(()),
        }
    }

    /// Checks that padding is a text, and that only deltas have it.
    pub(super) fn check_obfuscation(self, fields: CheckedObject<'_>) -> Result<(), Fault> {
        let grows = matches!(self, Self::PartDelta(_) | Self::Delta(_) | Self::Command("delta"));
        match fields.map.get("obfuscation") {
            Some(padding) if !grows || !padding.is_string() => {
                Err(Fault::new(Rule::Fields, "obfuscation is a text, and on deltas only"))
            }
            _ => Ok(()),
        }
    }

    fn check_logprobs(part: &PartKind, fields: CheckedObject<'_>) -> Result<(), Fault> {
        if part.annotated { logprobs::check(fields) } else { Ok(()) }
    }
}
