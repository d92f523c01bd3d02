//! One turn of a chat: the question, answers, and between them calls that run here or whose results
//! the user types, and approvals of calls.

use anyhow::Result;
use serde_json::{Value, json};

use super::Chat;
use super::input::{ChatInput, Line};
use super::local_tools::LocalTool;
use crate::cli::client::{Asked, Ending, Finished, REPEATS, ask};
use crate::cli::run::{call_words, is_call};
use crate::cli::{is_broken_pipe, one_line};

impl Chat {
    /// Asks, and goes on until the model asks for nothing more. A turn that fails is taken back.
    ///
    /// # Errors
    /// The output can't be written, or the terminal not read.
    pub(super) async fn turn(&mut self, question: String, input: &mut ChatInput) -> Result<()> {
        self.conversation.ask(question);
        let mut tool_turns = 0;
        loop {
            let body = self.conversation.body();
            let asked = ask(&self.target, body, &mut self.screen, &mut self.interrupts).await;
            let finished = match asked {
                Ok(Asked::Ended(finished)) => finished,
                Ok(Asked::Stopped(text)) => {
                    self.conversation.stop(&text);
                    return Ok(self.screen.remark("stopped; /retry asks again")?);
                }
                Ok(Asked::Repeating(text)) => {
                    self.conversation.stop(&text);
                    return Ok(self.screen.remark(&format!("{REPEATS}; /retry asks again"))?);
                }
                Err(error) if is_broken_pipe(&error) => return Err(error),
                Err(error) => return self.fail(&one_line(&error)),
            };
            self.stats.add(finished.figures);
            if self.verbose {
                self.screen.remark(&finished.figures.to_string())?;
            }
            let Finished { ending, items, .. } = *finished;
            match ending {
                Ending::Failed(message) => return self.fail(&message),
                Ending::Incomplete(reason) => self.screen.remark(&format!("incomplete: {reason}"))?,
                Ending::Completed => {}
            }
            let open: Vec<Value> = items.iter().filter(|item| wants_answer(item)).cloned().collect();
            self.conversation.add(items);
            if open.is_empty() {
                return Ok(());
            }
            tool_turns += usize::from(open.iter().any(|item| self.local_tools.called(item).is_some()));
            if tool_turns > self.tool_turns {
                return self.fail(&format!("tools were called in {} turns (--mcp-turns)", self.tool_turns));
            }
            for item in open {
                match self.answer(&item, input).await? {
                    Some(answer) => self.conversation.add([answer]),
                    None => return self.fail("the call has no result"),
                }
            }
        }
    }

    fn fail(&mut self, reason: &str) -> Result<()> {
        self.conversation.drop_turn();
        Ok(self.screen.remark(&format!("error: {reason}; /retry asks again"))?)
    }

    /// Asks the user for what an item wants; none if there is no answer.
    async fn answer(&mut self, item: &Value, input: &mut ChatInput) -> Result<Option<Value>> {
        if item["type"] == "mcp_approval_request" {
            let approved = self.approved(&call_words(item), input).await?;
            return Ok(approved.map(|approve| {
                json!({"type": "mcp_approval_response", "approval_request_id": item["id"], "approve": approve})
            }));
        }
        let output = if let Some(tool) = self.local_tools.called(item) {
            self.run(&tool, item, input).await?
        } else {
            self.screen.remark(&format!("call {}", call_words(item)))?;
            match input.text("result> ", &mut self.interrupts).await? {
                Line::Text(text) => Some(text),
                Line::Interrupted | Line::End => None,
            }
        };
        let kind = if item["type"] == "function_call" { "function_call" } else { "custom_tool_call" };
        Ok(output.map(
            |output| json!({"type": format!("{kind}_output"), "call_id": item["call_id"], "output": output}),
        ))
    }

    /// Asks the user whether a call may run; none if there is no answer.
    async fn approved(&mut self, words: &str, input: &mut ChatInput) -> Result<Option<bool>> {
        self.screen.remark(&format!("allow {words}?"))?;
        Ok(match input.text("y/n> ", &mut self.interrupts).await? {
            Line::Text(text) => Some(matches!(text.trim(), "y" | "yes")),
            Line::Interrupted | Line::End => None,
        })
    }

    /// Runs a call here, if it may run; none if the user stops it.
    async fn run(&mut self, tool: &LocalTool, call: &Value, input: &mut ChatInput) -> Result<Option<String>> {
        if tool.needs_approval() {
            match self.approved(&call_words(call), input).await? {
                Some(true) => {}
                Some(false) => return Ok(Some("The user doesn't allow this call.".to_owned())),
                None => return Ok(None),
            }
        }
        self.screen.remark(&format!("[{}]", tool.name()))?;
        Ok(tokio::select! {
            biased;
            () = self.interrupts.next() => None,
            output = tool.run(call) => Some(output),
        })
    }
}

/// Whether the conversation can't go on without an answer to this item.
fn wants_answer(item: &Value) -> bool {
    is_call(item) || item["type"] == "mcp_approval_request"
}
