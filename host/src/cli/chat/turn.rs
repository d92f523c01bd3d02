//! One turn of a chat: the question, answers, and between them calls whose results the user types,
//! and approvals of calls that the server would run.

use anyhow::Result;
use serde_json::{Value, json};

use super::super::client::{Asked, Ending, Finished, ask};
use super::super::run::{call_words, is_call};
use super::super::{is_broken_pipe, one_line};
use super::Chat;
use super::input::{ChatInput, Line};

impl Chat {
    /// Asks, and goes on until the model asks for nothing more. A turn that fails is taken back.
    ///
    /// # Errors
    /// The output can't be written, or the terminal not read.
    pub(super) async fn turn(&mut self, question: String, input: &mut ChatInput) -> Result<()> {
        self.conversation.ask(question);
        loop {
            let body = self.conversation.body();
            let asked = ask(&self.target, body, &mut self.screen, &mut self.interrupts).await;
            let finished = match asked {
                Ok(Asked::Ended(finished)) => finished,
                Ok(Asked::Stopped(text)) => {
                    self.conversation.stop(&text);
                    return Ok(self.screen.remark("stopped; /retry asks again")?);
                }
                Err(error) if is_broken_pipe(&error) => return Err(error),
                Err(error) => return self.fail(&one_line(&error)),
            };
            if self.verbose {
                self.screen.remark(&finished.figures())?;
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
        let is_approval = item["type"] == "mcp_approval_request";
        let words = call_words(item);
        self.screen.remark(&if is_approval { format!("allow {words}?") } else { format!("call {words}") })?;
        let prompt = if is_approval { "y/n> " } else { "result> " };
        let Line::Text(text) = input.text(prompt, &mut self.interrupts).await? else { return Ok(None) };
        Ok(Some(if is_approval {
            let approve = matches!(text.trim(), "y" | "yes");
            json!({"type": "mcp_approval_response", "approval_request_id": item["id"], "approve": approve})
        } else {
            let kind = if item["type"] == "function_call" { "function_call" } else { "custom_tool_call" };
            json!({"type": format!("{kind}_output"), "call_id": item["call_id"], "output": text})
        }))
    }
}

/// Whether the conversation can't go on without an answer to this item.
fn wants_answer(item: &Value) -> bool {
    is_call(item) || item["type"] == "mcp_approval_request"
}
