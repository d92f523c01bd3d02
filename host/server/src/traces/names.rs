//! Names of spans' attributes, as OpenTelemetry's conventions for generative AI have them. They are
//! still in development there and may be renamed: here is the only place that knows them.

/// What was done: [`CHAT`], [`TEXT_COMPLETION`] or [`EXECUTE_TOOL`].
pub(crate) const OPERATION: &str = "gen_ai.operation.name";
/// Operation of protocols with messages.
pub(crate) const CHAT: &str = "chat";
/// Operation of raw prompts.
pub(crate) const TEXT_COMPLETION: &str = "text_completion";
/// Operation of a tool that the server runs.
pub(crate) const EXECUTE_TOOL: &str = "execute_tool";
/// Who provides the model.
pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
/// This server, as a provider.
pub(crate) const SLUICE: &str = "sluice";
/// The model's first name.
pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
/// The limit of generated tokens.
pub(crate) const MAX_TOKENS: &str = "gen_ai.request.max_tokens";
/// The temperature, if the request sets it.
pub(crate) const TEMPERATURE: &str = "gen_ai.request.temperature";
/// Number of choices, if there are several.
pub(crate) const CHOICES: &str = "gen_ai.request.choice.count";
/// Id of the answer.
pub(crate) const RESPONSE_ID: &str = "gen_ai.response.id";
/// The model's first name, as the answer has it.
pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
/// Why each choice ended.
pub(crate) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// Tokens of the prompt.
pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Generated tokens.
pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Code of the failure.
pub(crate) const ERROR: &str = "error.type";
/// Id of the request, which the log has, too.
pub(crate) const REQUEST_ID: &str = "sluice.request.id";
/// Label of a tool's server.
pub(crate) const TOOL_SERVER: &str = "sluice.tool.server";
