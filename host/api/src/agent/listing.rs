//! Lists the tools of all servers at the beginning of an answer, at the same time.

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;

use super::event::ServerEvent;
use super::hosted::{HostedToolKind, HostedTools};
use mcp::McpTool;
use model::AnswerContext;
use model::record::RecordedInput;
use model::record::line::{Line, ListedLine, ListedTool};

/// Index of a server, and the list or error that it answered with.
type Answer = (usize, Result<Vec<McpTool>, String>);

/// Listing of several servers' tools.
pub(super) struct Listing {
    servers: Vec<HostedTools>,
    asked: FuturesUnordered<BoxFuture<'static, Answer>>,
    answers: Vec<Listed>,
    context: AnswerContext,
}

/// State of one server's list.
#[derive(Debug, Clone)]
enum Listed {
    Asked,
    Failed,
    Tools(Vec<McpTool>),
}

impl Listing {
    /// Requests the lists of all `servers`; in a replayed answer, the recorded ones.
    pub(super) fn new(servers: Vec<HostedTools>, context: AnswerContext) -> Self {
        let asked = FuturesUnordered::new();
        for (place, tools) in servers.iter().enumerate() {
            let answer: BoxFuture<'static, Answer> = if let Some(playback) = context.playback().cloned() {
                Box::pin(async move {
                    let is_own = |input: &RecordedInput| matches!(input, RecordedInput::Listed(line) if line.server == place);
                    (place, recorded(playback.next(is_own).await))
                })
            } else {
                let server = std::sync::Arc::clone(&tools.server);
                Box::pin(async move { (place, server.tools().await.map_err(|error| error.to_string())) })
            };
            asked.push(answer);
        }
        let answers = vec![Listed::Asked; servers.len()];
        Self { servers, asked, answers, context }
    }

    /// Events to send before the first list comes.
    pub(super) fn begin_events(&self) -> impl Iterator<Item = ServerEvent> {
        let listed = self.servers.iter().filter(|tools| needs_list_events(tools));
        listed.map(|tools| ServerEvent::ListBegun { server: tools.server.label().to_owned() })
    }

    /// Waits for the next server's list. Returns its event, if the client gets one; none when all
    /// servers have answered.
    pub(super) async fn next(&mut self) -> Option<Option<ServerEvent>> {
        let (place, answer) = self.asked.next().await?;
        self.context.record(|ms| Line::Listed(line(ms, place, &answer)));
        let server = &self.servers[place];
        self.answers[place] = answer.as_ref().map_or(Listed::Failed, |tools| Listed::Tools(tools.clone()));
        let server_label = server.server.label().to_owned();
        Some(needs_list_events(server).then(|| ServerEvent::ListEnded {
            server: server_label,
            tools: answer.map(|tools| allowed(server, tools)),
        }))
    }

    /// Labels of the servers whose `ListBegun` event has no `ListEnded` yet.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = String> {
        let missing = self.servers.iter().zip(&self.answers).filter(|(tools, _)| needs_list_events(tools));
        missing
            .filter(|(_, answer)| matches!(answer, Listed::Asked))
            .map(|(tools, _)| tools.server.label().to_owned())
    }

    /// Servers that listed their tools, with these tools.
    pub(super) fn into_answers(self) -> impl Iterator<Item = (HostedTools, Vec<McpTool>)> {
        self.servers.into_iter().zip(self.answers).filter_map(|(hosted, answer)| match answer {
            Listed::Tools(tools) => Some((hosted, tools)),
            Listed::Asked | Listed::Failed => None,
        })
    }
}

/// Whether the client gets events of the list: once for each MCP server.
fn needs_list_events(tools: &HostedTools) -> bool {
    tools.kind == HostedToolKind::Mcp && !tools.listed
}

fn allowed(hosted: &HostedTools, tools: Vec<McpTool>) -> Vec<McpTool> {
    let allowed = |tool: &McpTool| hosted.allowed.as_ref().is_none_or(|allowed| allowed.contains(&tool.name));
    tools.into_iter().filter(allowed).collect()
}

/// The line of a server's answer.
fn line(ms: u64, server: usize, answer: &Result<Vec<McpTool>, String>) -> ListedLine {
    let tool = |tool: &McpTool| {
        let McpTool { name, description, input_schema, annotations } = tool.clone();
        ListedTool { name, description, input_schema, annotations }
    };
    let tools = answer.as_ref().map(|tools| tools.iter().map(tool).collect()).map_err(Clone::clone);
    ListedLine { ms, server, tools }
}

/// A server's recorded answer.
fn recorded(input: RecordedInput) -> Result<Vec<McpTool>, String> {
    let RecordedInput::Listed(line) = input else { return Err(String::new()) };
    let tool = |ListedTool { name, description, input_schema, annotations }| McpTool {
        name,
        description,
        input_schema,
        annotations,
    };
    line.tools.map(|tools| tools.into_iter().map(tool).collect())
}
