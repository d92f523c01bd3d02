//! Reader of a request's tools that the server runs: `mcp`, `web_search` and `code_interpreter`. A
//! tool that can't be run here is ignored with a warning, like any unknown tool, since clients
//! offer all the tools that they know.

use super::input;
use crate::agent::{self, ApprovalRule, Hosted, HostedToolKind, HostedTools};
use crate::error::ApiError;
use crate::json::{Field, JsonObject, List, Value};
use crate::raw::{self, Json};
use crate::responses::fields::{
    self, ALLOWED_TOOLS, AUTHORIZATION, REQUIRE_APPROVAL, Row, SERVER_DESCRIPTION, Shape,
};
use crate::responses::input_items::Input;
use crate::tools::{Allowed, TOOLS, ToolChoiceField, domains};
use crate::warnings::Warnings;
use mcp::{Approval, McpServer, McpServers, RequestServerError, UrlError};
use net::printable::printable;
use std::sync::Arc;

/// Fields of an `mcp` tool that the response repeats. Fields that may hold secrets aren't among
/// them.
const SHOWN: [Row; 6] = [
    fields::TYPE.row(),
    fields::SERVER_LABEL.row(),
    fields::SERVER_URL.row(),
    SERVER_DESCRIPTION.row(),
    ALLOWED_TOOLS.row(),
    REQUIRE_APPROVAL.row(),
];

/// Types of the built-in tools, without a date.
const WEB_SEARCH: &str = "web_search";
const CODE_INTERPRETER: &str = "code_interpreter";

/// Why a search isn't offered to the model.
const OFFLINE: &str = "tool of type web_search ignored: external_web_access is false, and nothing is searched here without the web";

/// What an `mcp` tool has that the tables of fields don't list.
const TOOL_NAMES: Field<List<'_>> = Field::new("tool_names", "");
const ALWAYS: Field<Value<'_>> = Field::new("always", "");
const NEVER: Field<Value<'_>> = Field::new("never", "");

/// Reads the tools that the server runs from `tools` and `input`, `None` if there are none; and
/// those tools as the response shows them. They are `most` at most.
pub(in crate::responses) fn read(
    body: &JsonObject<'_>,
    items: Input<'_>,
    max_calls: Option<u32>,
    (servers, most): (&McpServers, usize),
    warnings: &mut Warnings,
) -> Result<(Option<Hosted>, Vec<Json>), ApiError> {
    let mut hosted = Hosted { max_calls, ..Hosted::default() };
    let mut shown = Vec::new();
    let listed = input::listed_servers(items);
    let mut list = |owner: JsonObject<'_>| {
        for (path, value) in owner.list(TOOLS)?.iter() {
            let tool = JsonObject::new(value, path)?;
            if let Some(tools) = hosted_tools(&tool, &hosted.tools, servers, &listed, warnings)? {
                shown.push(echo(tool.require(fields::TYPE)?, value, tool));
                hosted.tools.push(tools);
            }
        }
        if hosted.tools.len() > most {
            return Err(owner
                .at(TOOLS)
                .invalid(format_args!("at most {most} tools, those in the input too")));
        }
        Ok(())
    };
    list(*body)?;
    for (path, item) in items.of_kind("additional_tools") {
        list(JsonObject::new(item, path)?)?;
    }
    hosted.approved = input::approved(items)?;
    hosted.approved.retain(|call| {
        let known = hosted.tools.iter().any(|tools| tools.server.label() == call.server);
        if !known {
            warnings.add("an approved call was not run: its server is not among the tools");
        }
        known
    });
    Ok(((!hosted.tools.is_empty()).then_some(hosted), shown))
}

/// The tools of the server that `tool` stands for; none if it is another kind of tool, can't be run
/// here, or stands for some of the `known` ones.
fn hosted_tools(
    tool: &JsonObject<'_>,
    known: &[HostedTools],
    servers: &McpServers,
    listed: &[&str],
    warnings: &mut Warnings,
) -> Result<Option<HostedTools>, ApiError> {
    let kind = tool.require(fields::TYPE)?;
    let found = match kind {
        "mcp" => mcp(tool, servers, listed, warnings)?,
        kind if is_web_search(kind) && tool.get(fields::EXTERNAL_WEB_ACCESS)? == Some(false) => {
            warnings.add(OFFLINE);
            return Ok(None);
        }
        _ => builtin(tool, kind, servers)?,
    };
    let Some(tools) = found else {
        if is_hosted(kind) {
            warnings.add(format!("tool of type {} ignored", printable(kind)));
        }
        return Ok(None);
    };
    if !known.iter().any(|known| is_same(known, &tools)) {
        return Ok(Some(tools));
    }
    if known.iter().any(|known| known.kind == tools.kind && known.domains != tools.domains) {
        return Err(tool.at(fields::TYPE).invalid("there is a search of other domains already: send one"));
    }
    warnings.add(format!("tool of type {} ignored: there is one already", printable(kind)));
    Ok(None)
}

/// Notes the tool that has to be called, and removes those that the model may not call; `None` if no
/// server is left. Servers of calls that the client has approved stay, without being shown to the
/// model.
pub(in crate::responses) fn choose(mut hosted: Hosted, choice: &ToolChoiceField) -> Option<Hosted> {
    let allowed = match choice {
        ToolChoiceField::Allowed(allowed) => allowed,
        ToolChoiceField::OfServer { label, name } => {
            hosted.force(HostedToolKind::Mcp, Some(label), name);
            return Some(hosted);
        }
        ToolChoiceField::OfKind(kind) => {
            match family(kind) {
                WEB_SEARCH => hosted.force(HostedToolKind::WebSearch, None, agent::WEB_SEARCH),
                CODE_INTERPRETER => hosted.force(HostedToolKind::CodeInterpreter, None, agent::PYTHON),
                _ => {}
            }
            return Some(hosted);
        }
        _ => return Some(hosted),
    };
    let Hosted { tools, approved, .. } = &mut hosted;
    for tools in tools.iter_mut() {
        tools.chosen = chosen(tools, allowed);
    }
    let is_awaited = |label: &str| approved.iter().any(|call| call.server == label);
    tools.retain(|tools| tools.may_be_called() || is_awaited(tools.server.label()));
    (!tools.is_empty()).then_some(hosted)
}

/// Names of a server's tools that are allowed; `None`: all.
fn chosen(tools: &HostedTools, allowed: &Allowed) -> Option<Vec<String>> {
    let by_kind = |fits: fn(&str) -> bool| {
        if allowed.kinds.iter().any(|kind| fits(kind)) { None } else { Some(Vec::new()) }
    };
    match tools.kind {
        HostedToolKind::WebSearch => by_kind(is_web_search),
        HostedToolKind::CodeInterpreter => by_kind(|kind| kind == CODE_INTERPRETER),
        // An entry without a name makes the whole `Option` `None`: all tools are allowed.
        HostedToolKind::Mcp => {
            let of_server = allowed.servers.iter().filter(|(label, _)| label == tools.server.label());
            of_server.map(|(_, name)| name.clone()).collect()
        }
    }
}

/// The type in the table of tools that a tool's type stands for.
pub(in crate::responses) fn family(kind: &str) -> &str {
    if is_web_search(kind) { WEB_SEARCH } else { kind }
}

/// Whether the server runs tools of this type.
fn is_hosted(kind: &str) -> bool {
    kind == "mcp" || kind == CODE_INTERPRETER || is_web_search(kind)
}

/// Whether the type is `web_search`, `web_search_preview`, or one of them with a date.
fn is_web_search(kind: &str) -> bool {
    kind.strip_prefix(WEB_SEARCH)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("_preview") || rest.starts_with("_20"))
}

fn is_same(known: &HostedTools, new: &HostedTools) -> bool {
    known.kind == new.kind && known.server.label() == new.server.label()
}

fn builtin(tool: &JsonObject<'_>, kind: &str, servers: &McpServers) -> Result<Option<HostedTools>, ApiError> {
    let (server, kind) = match kind {
        CODE_INTERPRETER => (servers.code_interpreter(), HostedToolKind::CodeInterpreter),
        kind if is_web_search(kind) => (servers.web_search(), HostedToolKind::WebSearch),
        _ => return Ok(None),
    };
    let Some(server) = server else { return Ok(None) };
    let filters = tool.get(fields::FILTERS)?;
    let domains = filters.as_ref().map_or(Ok(None), domains)?;
    Ok(Some(HostedTools { domains, ..HostedTools::new(server, kind, Approval::Never) }))
}

fn mcp(
    tool: &JsonObject<'_>,
    servers: &McpServers,
    listed: &[&str],
    warnings: &mut Warnings,
) -> Result<Option<HostedTools>, ApiError> {
    let label = tool.require(fields::SERVER_LABEL)?;
    let Some(server) = server(label, tool, servers, warnings)? else { return Ok(None) };
    let allowed = tool.value(ALLOWED_TOOLS).map(|value| names(value, tool, ALLOWED_TOOLS)).transpose()?;
    let approval = approval(tool, server.require_approval())?;
    let listed = listed.contains(&label);
    let tools = HostedTools::new(server, HostedToolKind::Mcp, Approval::Always);
    Ok(Some(HostedTools { allowed, approval, listed, ..tools }))
}

/// The configured server with the label, else the one at the tool's URL, if the operator lets
/// requests name servers.
fn server(
    label: &str,
    tool: &JsonObject<'_>,
    servers: &McpServers,
    warnings: &mut Warnings,
) -> Result<Option<Arc<McpServer>>, ApiError> {
    let url = tool.get(fields::SERVER_URL)?;
    if let Some(server) = servers.get(label) {
        if url.is_some() {
            warnings.add(format!("server_url ignored: {} is configured here", printable(label)));
        }
        return Ok(Some(server));
    }
    let Some(url) = url else { return Ok(None) };
    match servers.of_request(label, url, headers(tool)?) {
        Ok(server) => Ok(Some(server)),
        Err(RequestServerError::Url(UrlError::Forbidden)) => {
            warnings.add("server_url ignored: this server does not connect to servers that requests name");
            Ok(None)
        }
        Err(error @ RequestServerError::Header(_)) => Err(tool.at(fields::HEADERS).invalid(error)),
        Err(error) => Err(tool.at(fields::SERVER_URL).invalid(error)),
    }
}

/// `headers`, and `authorization` as a header with a bearer token.
fn headers(tool: &JsonObject<'_>) -> Result<Vec<(String, String)>, ApiError> {
    let mut headers = Vec::new();
    if let Some(object) = tool.get(fields::HEADERS)? {
        for (name, _) in object.fields() {
            let value = object.entry::<&str>(name, &Shape::Text)?;
            let value = value.ok_or_else(|| object.path.field(name).missing("a string"))?;
            headers.push((name.to_owned(), value.to_owned()));
        }
    }
    if let Some(token) = tool.get(AUTHORIZATION)? {
        headers.push(("authorization".to_owned(), format!("Bearer {token}")));
    }
    Ok(headers)
}

/// Reads names of tools: `["a"]` or `{"tool_names": ["a"]}`.
fn names(value: Value<'_>, tool: &JsonObject<'_>, field: Field<Value<'_>>) -> Result<Vec<String>, ApiError> {
    let path = tool.at(field);
    let list = match value {
        Value::Object(_) => value.field(TOOL_NAMES).unwrap_or(Value::Null),
        list => list,
    };
    let list =
        list.as_list().ok_or_else(|| path.expected("a list of names, or {\"tool_names\": […]}", value))?;
    let name = |name: Value<'_>| name.as_str().map(str::to_owned);
    list.iter().map(name).collect::<Option<_>>().ok_or_else(|| path.expected("a list of strings", value))
}

/// Reads `require_approval`: `"always"`, `"never"`, or lists of tools for both. Tools in neither
/// list need approval, unless only `always` is given.
fn approval(tool: &JsonObject<'_>, default: Approval) -> Result<ApprovalRule, ApiError> {
    let path = tool.at(REQUIRE_APPROVAL);
    let filter = match tool.value(REQUIRE_APPROVAL) {
        None => return Ok(ApprovalRule::all(default)),
        Some(word) if word.as_str() == Some("always") => return Ok(ApprovalRule::all(Approval::Always)),
        Some(word) if word.as_str() == Some("never") => return Ok(ApprovalRule::all(Approval::Never)),
        Some(filter @ Value::Object(_)) => filter,
        Some(_) => return Err(path.invalid("expected \"always\", \"never\" or an object of both")),
    };
    let list = |field| -> Result<Vec<String>, ApiError> {
        let given = filter.field(field).filter(|value| !value.is_null());
        given.map_or(Ok(Vec::new()), |value| names(value, tool, REQUIRE_APPROVAL))
    };
    let (always, never) = (list(ALWAYS)?, list(NEVER)?);
    let others = if never.is_empty() && !always.is_empty() { Approval::Never } else { Approval::Always };
    Ok(ApprovalRule { always, never, others })
}

/// The tool as the response shows it.
fn echo(kind: &str, tool: Value<'_>, fields: JsonObject<'_>) -> Json {
    if kind != "mcp" {
        return tool.to_json();
    }
    let shown = SHOWN.into_iter().filter_map(|row| Some((row.name, fields.value_of(&row)?.to_json())));
    let absent = [ALLOWED_TOOLS, REQUIRE_APPROVAL].into_iter().filter(|field| fields.value(*field).is_none());
    let absent = absent.map(Field::row).chain([fields::HEADERS.row()]);
    raw::object(shown.chain(absent.map(|row| (row.name, Json::null()))))
}
