//! Screen between a transport and the MCP library: answers requests of the server by itself, and
//! passes on only what the client uses, which is answers, and the notice that a list of tools has
//! changed. The library would make a task, and a log line with all the text, of every message,
//! without bound.
//!
//! Invariant: at most `REPLIES` replies are on their way. Further requests get none: to wait with
//! reading until a reply is sent could be to wait for ever, since the transport may have to be read
//! before it sends.

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{
    ClientNotification, ClientRequest, ClientResult, ErrorCode, ErrorData, JsonRpcMessage, RequestId,
    ServerNotification, ServerRequest,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::task::JoinSet;

use super::allowance::Allowance;

/// Maximum number of replies to requests of the server that may be on their way.
const REPLIES: usize = 16;

/// A transport with a screen before it.
pub(super) struct Screen<T> {
    inner: T,
    allowance: Arc<Allowance>,
    /// Tasks that send replies. They run on while nobody receives: each may have the lock under
    /// which the library sends and closes.
    replies: JoinSet<()>,
    /// Id of the request that asks whether the server has the lifecycle without a handshake, until
    /// it is answered.
    discovering: Option<RequestId>,
    /// The same id after the handshake began without an answer: a slow server's late answer is none
    /// of the handshake.
    given_up: Option<RequestId>,
}

impl<T: Transport<RoleClient> + 'static> Screen<T> {
    pub(super) fn new(inner: T, allowance: Arc<Allowance>) -> Self {
        Self { inner, allowance, replies: JoinSet::new(), discovering: None, given_up: None }
    }

    /// Returns a message that the client uses; replies to a request.
    fn screen(&mut self, message: RxJsonRpcMessage<RoleClient>) -> Option<RxJsonRpcMessage<RoleClient>> {
        match &message {
            JsonRpcMessage::Response(response) => {
                if !self.is_awaited(Some(&response.id)) {
                    return None;
                }
            }
            JsonRpcMessage::Error(error) => {
                if !self.is_awaited(error.id.as_ref()) {
                    return None;
                }
            }
            JsonRpcMessage::Notification(notification) => {
                let ServerNotification::ToolListChangedNotification(_) = notification.notification else {
                    return None;
                };
            }
            JsonRpcMessage::Request(_) if self.replies.len() == REPLIES => return None,
            JsonRpcMessage::Request(request) => {
                let reply = reply(&request.request, request.id.clone());
                let sending = self.inner.send(reply);
                self.replies.spawn(async move {
                    // A server that can't be replied to can't be asked either, and that is an error
                    // of the call.
                    let _ = sending.await;
                });
                return None;
            }
        }
        Some(message)
    }

    /// Counts an answer; false if it is the late one to what was given up.
    fn is_awaited(&mut self, id: Option<&RequestId>) -> bool {
        if id.is_some() && id == self.given_up.as_ref() {
            self.given_up = None;
            return false;
        }
        self.discovering = None;
        self.allowance.answered();
        true
    }

    /// Counts a request that is sent.
    fn asks(&mut self, request: &ClientRequest, id: &RequestId) {
        match request {
            ClientRequest::DiscoverRequest(_) => self.discovering = Some(id.clone()),
            ClientRequest::InitializeRequest(_) => {
                self.given_up = self.discovering.take();
                if self.given_up.is_some() {
                    self.allowance.answered();
                }
            }
            _ => {}
        }
        self.allowance.asked();
    }
}

/// Reply to a request of the server. The client offers servers nothing: no sampling, no roots, no
/// elicitation.
fn reply(request: &ServerRequest, id: RequestId) -> TxJsonRpcMessage<RoleClient> {
    if let ServerRequest::PingRequest(_) = request {
        return JsonRpcMessage::response(ClientResult::empty(()), id);
    }
    let refused = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "not offered", None);
    JsonRpcMessage::error(refused, Some(id))
}

impl<T: Transport<RoleClient> + 'static> Transport<RoleClient> for Screen<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        match &message {
            JsonRpcMessage::Request(request) => self.asks(&request.request, &request.id),
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(_) = notification.notification {
                    self.allowance.answered();
                }
            }
            _ => {}
        }
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = tokio::select! {
                biased;
                () = self.allowance.ended() => return None,
                Some(_) = self.replies.join_next() => continue,
                message = self.inner.receive() => message?,
            };
            if let Some(message) = self.screen(message) {
                return Some(message);
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.replies.abort_all();
        self.inner.close()
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ClientConfig, DiscoverRequest, DiscoverRequestParams, InitializeRequest};
    use rmcp::transport::async_rw::AsyncRwTransport;
    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::limits::McpLimits;

    #[tokio::test]
    async fn late_answer_is_not_taken_for_the_handshakes() {
        let (ours, mut theirs) = tokio::io::duplex(4096);
        let (input, output) = tokio::io::split(ours);
        let allowance = Allowance::new("test".into(), &McpLimits::default());
        let mut screen = Screen::new(AsyncRwTransport::new_client(input, output), allowance);
        let discover = ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {}));
        let initialize = ClientRequest::InitializeRequest(InitializeRequest::new(ClientConfig::default()));
        for (id, request) in [(0, discover), (1, initialize)] {
            screen.send(JsonRpcMessage::request(request, RequestId::Number(id))).await.unwrap();
        }
        for id in 0..2 {
            let answer = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32601,\"message\":\"no such method\"}}}}\n"
            );
            theirs.write_all(answer.as_bytes()).await.unwrap();
        }
        let Some(JsonRpcMessage::Error(error)) = screen.receive().await else { panic!("an error comes") };
        assert_eq!(error.id, Some(RequestId::Number(1)));
    }
}
