//! Names of spans' attributes, as OpenTelemetry's conventions for generative AI have them. They are
//! still in development there and may be renamed: here is the only place that knows them.

/// What was done: [`CHAT`], [`TEXT_COMPLETION`] or [`EXECUTE_TOOL`].
pub(super) const OPERATION: &str = "gen_ai.operation.name";
/// Operation of protocols with messages.
pub(super) const CHAT: &str = "chat";
/// Operation of raw prompts.
pub(super) const TEXT_COMPLETION: &str = "text_completion";
/// Operation of a tool that the server runs.
pub(super) const EXECUTE_TOOL: &str = "execute_tool";
/// Who provides the model.
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
/// This server, as a provider.
pub(super) const SLUICE: &str = "sluice";
/// The model's first name.
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
/// The limit of generated tokens.
pub(super) const MAX_TOKENS: &str = "gen_ai.request.max_tokens";
/// The temperature, if the request sets it.
pub(super) const TEMPERATURE: &str = "gen_ai.request.temperature";
/// Number of choices, if there are several.
pub(super) const CHOICES: &str = "gen_ai.request.choice.count";
/// Id of the answer.
pub(super) const RESPONSE_ID: &str = "gen_ai.response.id";
/// The model's first name, as the answer has it.
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
/// Why each choice ended.
pub(super) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// Tokens of the prompt.
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Generated tokens.
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Code of the failure.
pub(super) const ERROR: &str = "error.type";
/// Id of the request, which the log has, too.
pub(super) const REQUEST_ID: &str = "sluice.request.id";
/// Label of a tool's server.
pub(super) const TOOL_SERVER: &str = "sluice.tool.server";
