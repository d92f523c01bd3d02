//! A tool's result as one text for the model.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use super::error::McpError;

/// Text of a result, at most `most` bytes; if the tool reports failure, the text is the error's.
pub(super) fn text(result: &CallToolResult, most: usize) -> Result<String, McpError> {
    let mut text = String::new();
    for block in &result.content {
        let part = block_text(block);
        if text.len() + part.len() + 1 > most {
            return Err(McpError::TooLarge(most));
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(part);
    }
    if let (true, Some(structured)) = (result.content.is_empty(), &result.structured_content) {
        text = structured.to_string();
        if text.len() > most {
            return Err(McpError::TooLarge(most));
        }
    }
    if result.is_error == Some(true) { Err(McpError::Tool(text)) } else { Ok(text) }
}

/// Text of one block; a block that isn't text becomes a placeholder.
fn block_text(block: &ContentBlock) -> &str {
    match block {
        ContentBlock::Text(text) => &text.text,
        ContentBlock::Image(_) => "[image]",
        ContentBlock::Audio(_) => "[audio]",
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text,
            _ => "[file]",
        },
        ContentBlock::ResourceLink(link) => &link.uri,
        _ => "[content]",
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolResult, ContentBlock};
    use serde_json::json;

    use super::{McpError, text};

    #[test]
    fn blocks_join_as_text_with_placeholders_for_others() {
        let result: CallToolResult = serde_json::from_value(json!({"content": [
            {"type": "text", "text": "a"},
            {"type": "image", "data": "AA==", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "x:y", "text": "b"}},
        ]}))
        .unwrap();
        assert_eq!(text(&result, 100), Ok("a\n[image]\nb".to_owned()));
        assert_eq!(text(&result, 5), Err(McpError::TooLarge(5)));
    }

    #[test]
    fn failures_are_errors_and_bare_structure_is_its_json() {
        let failed = CallToolResult::error(vec![ContentBlock::text("no such city")]);
        assert_eq!(text(&failed, 100), Err(McpError::Tool("no such city".to_owned())));
        let structured: CallToolResult =
            serde_json::from_value(json!({"content": [], "structuredContent": {"n": 1}})).unwrap();
        assert_eq!(text(&structured, 100), Ok("{\"n\":1}".to_owned()));
    }
}
