//! A component's functions, and conversions between the types of a contract's version and
//! [`contract`]'s, case by case. Strings are moved, requests are borrowed. Compiled once for each
//! version, with `super`'s bindings.

use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre};

use super::{Plugin, PluginPre, wit};
use crate::instance::Exports;
use crate::instance_limits::InstanceLimits;

type GuestStore = Store<InstanceLimits>;

impl Exports for Plugin {
    type Pre = PluginPre<InstanceLimits>;

    fn find(linked: InstancePre<InstanceLimits>) -> wasmtime::Result<Self::Pre> {
        PluginPre::new(linked)
    }

    fn of(store: &mut GuestStore, instance: &Instance) -> wasmtime::Result<Self> {
        Self::new(store, instance)
    }

    fn instantiate(pre: &Self::Pre, store: &mut GuestStore) -> wasmtime::Result<Self> {
        pre.instantiate(store)
    }

    fn describe(
        &self,
        store: &mut GuestStore,
        options: &[(String, String)],
    ) -> wasmtime::Result<Result<contract::Descriptor, String>> {
        let described = self.sluice_parser_parser().call_describe(store, &pairs(options))?;
        Ok(described.map(Into::into))
    }

    fn start(
        &self,
        store: &mut GuestStore,
        request: &contract::Request,
        needs_schemas: bool,
    ) -> wasmtime::Result<Result<(), String>> {
        let parameters = parameters(&request.tools);
        let tools = tools(&request.tools, &parameters, needs_schemas);
        let options = pairs(&request.options);
        let token_markers = &request.token_markers;
        let request = wit::Request { tools: &tools, token_markers, options: &options };
        self.sluice_parser_parser().call_start(store, request)
    }

    fn text(&self, store: &mut GuestStore, chunk: &str) -> wasmtime::Result<contract::Step> {
        Ok(self.sluice_parser_parser().call_text(store, chunk)?.into())
    }

    fn marker(&self, store: &mut GuestStore, index: u32) -> wasmtime::Result<contract::Step> {
        Ok(self.sluice_parser_parser().call_marker(store, index)?.into())
    }

    fn finish(
        &self,
        store: &mut GuestStore,
        reason: contract::FinishReason,
    ) -> wasmtime::Result<contract::Step> {
        Ok(self.sluice_parser_parser().call_finish(store, reason.into())?.into())
    }
}

/// Borrows `pairs` as the bindings take them.
fn pairs(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// The parameters of each tool.
fn parameters(tools: &[contract::Tool]) -> Vec<Vec<wit::Parameter<'_>>> {
    tools.iter().map(|tool| tool.parameters.iter().map(Into::into).collect()).collect()
}

/// Borrows the tools, with their converted `parameters`, and with their schemas for a parser that
/// needs these.
fn tools<'a>(
    tools: &'a [contract::Tool],
    parameters: &'a [Vec<wit::Parameter<'a>>],
    needs_schemas: bool,
) -> Vec<wit::Tool<'a>> {
    let of = |(tool, parameters): (&'a contract::Tool, &'a Vec<_>)| wit::Tool {
        name: &tool.name,
        kind: match tool.kind {
            contract::ToolKind::Function => wit::ToolKind::Function,
            contract::ToolKind::Custom => wit::ToolKind::Custom,
        },
        parameters,
        others: tool.others.into(),
        schema: if needs_schemas { &tool.schema } else { "" },
    };
    tools.iter().zip(parameters).map(of).collect()
}

impl<'a> From<&'a contract::Parameter> for wit::Parameter<'a> {
    fn from(parameter: &'a contract::Parameter) -> Self {
        Self { name: &parameter.name, types: parameter.types.into() }
    }
}

impl From<contract::Types> for wit::Types {
    fn from(types: contract::Types) -> Self {
        let all = [
            (contract::Types::NULL, Self::NULL),
            (contract::Types::BOOLEAN, Self::BOOLEAN),
            (contract::Types::INTEGER, Self::INTEGER),
            (contract::Types::NUMBER, Self::NUMBER),
            (contract::Types::STRING, Self::STRING),
            (contract::Types::ARRAY, Self::ARRAY),
            (contract::Types::OBJECT, Self::OBJECT),
        ];
        let allowed = all.into_iter().filter(|(one, _)| types.allows(*one));
        allowed.fold(Self::empty(), |allowed, (_, one)| allowed | one)
    }
}

impl From<contract::FinishReason> for wit::FinishReason {
    fn from(reason: contract::FinishReason) -> Self {
        match reason {
            contract::FinishReason::Stop => Self::Stop,
            contract::FinishReason::Length => Self::Length,
            contract::FinishReason::Cancelled => Self::Cancelled,
        }
    }
}

impl From<wit::Descriptor> for contract::Descriptor {
    fn from(descriptor: wit::Descriptor) -> Self {
        Self {
            name: descriptor.name,
            version: descriptor.version,
            models: descriptor.models,
            markers: descriptor.markers,
            stops: descriptor.stops,
            trim: contract::Trim {
                reasoning: descriptor.trim.contains(wit::Trim::REASONING),
                content: descriptor.trim.contains(wit::Trim::CONTENT),
            },
            history_call_ids: descriptor.history_call_ids,
            grammar: descriptor.grammar,
            reasoning_end: descriptor.reasoning_end,
            needs: descriptor.needs,
            properties: descriptor.properties,
        }
    }
}

impl From<wit::Step> for contract::Step {
    fn from(step: wit::Step) -> Self {
        match step {
            wit::Step::Pass => Self::Pass,
            wit::Step::Hold => Self::Hold,
            wit::Step::HoldUntil(hold) => Self::HoldUntil(hold.into()),
            wit::Step::Ops(ops) => Self::Ops(ops.into_iter().map(Into::into).collect()),
            wit::Step::Fault(words) => Self::Fault(words),
        }
    }
}

impl From<wit::HoldUntil> for contract::HoldUntil {
    fn from(hold: wit::HoldUntil) -> Self {
        Self { ends: hold.ends.into(), at_most: hold.at_most }
    }
}

impl From<wit::Op> for contract::Op {
    fn from(op: wit::Op) -> Self {
        match op {
            wit::Op::Bytes(run) => Self::Bytes(contract::Run { route: run.route.into(), bytes: run.bytes }),
            wit::Op::UntilMarker(route) => Self::UntilMarker(route.into()),
            wit::Op::Message(phase) => Self::Message(phase.into()),
            wit::Op::ToolCall(call) => Self::ToolCall(call.into()),
            wit::Op::Close => Self::Close,
            wit::Op::DerivedArguments(text) => Self::DerivedArguments(text),
            wit::Op::UntilByte(until) => {
                Self::UntilByte(contract::Until { route: until.route.into(), bytes: until.bytes.into() })
            }
            wit::Op::BrokenCall => Self::BrokenCall,
            wit::Op::UntilJson(rest) => Self::UntilJson(contract::JsonRest {
                route: rest.route.into(),
                depth: rest.depth,
                in_string: match rest.in_string {
                    wit::InString::No => contract::InString::No,
                    wit::InString::Yes => contract::InString::Yes,
                    wit::InString::AfterBackslash => contract::InString::AfterBackslash,
                },
            }),
            wit::Op::Parameter(parameter) => Self::Parameter(contract::ParameterValue {
                path: parameter.path.into_iter().map(Into::into).collect(),
                reading: match parameter.reading {
                    wit::Reading::Declared => contract::Reading::Declared,
                    wit::Reading::Text => contract::Reading::Text,
                    wit::Reading::Json => contract::Reading::Json,
                },
            }),
            wit::Op::ParameterEnd => Self::ParameterEnd,
            wit::Op::HoldUntil(hold) => Self::HoldUntil(hold.into()),
            wit::Op::Note(note) => Self::Note(contract::Note { name: note.name, data: note.data }),
        }
    }
}

impl From<wit::Payload> for contract::Payload {
    fn from(payload: wit::Payload) -> Self {
        match payload {
            wit::Payload::Json => Self::Json,
            wit::Payload::Text => Self::Text,
        }
    }
}

impl From<wit::Segment> for contract::Segment {
    fn from(segment: wit::Segment) -> Self {
        match segment {
            wit::Segment::Key(key) => Self::Key(key),
            wit::Segment::Item(index) => Self::Item(index),
            wit::Segment::Element(element) => Self::Element { name: element.name, index: element.index },
        }
    }
}

impl From<wit::Route> for contract::Route {
    fn from(route: wit::Route) -> Self {
        match route {
            wit::Route::Content => Self::Content,
            wit::Route::Reasoning => Self::Reasoning,
            wit::Route::Arguments => Self::Arguments,
            wit::Route::ArgumentsEscaped => Self::ArgumentsEscaped,
            wit::Route::ArgumentsUnescaped => Self::ArgumentsUnescaped,
            wit::Route::Value => Self::Value,
            wit::Route::Drop => Self::Drop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{ToolKind, Types};

    #[test]
    fn tools_cross_with_types_and_schemas_only_if_needed() {
        let schema = r#"{"properties":{"n":{"type":"integer"}},"additionalProperties":false}"#;
        let told = [turn::values::tool("f", ToolKind::Function, schema)];
        let parameters = parameters(&told);
        for (needs_schemas, given) in [(false, ""), (true, schema)] {
            let tools = tools(&told, &parameters, needs_schemas);
            let [tool] = &tools[..] else { panic!("{}", tools.len()) };
            assert_eq!((tool.name, tool.parameters[0].name, tool.schema), ("f", "n", given));
            assert!(tool.parameters[0].types == wit::Types::INTEGER && tool.others == wit::Types::empty());
        }
        assert!(wit::Types::from(Types::ANY) == wit::Types::all());
    }
}
