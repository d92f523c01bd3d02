//! Parser for Kimi K3: a message of channels, `think`, `response` and `tools`, whose calls say the
//! type of each argument.
//!
//! `<|open|>tools<|sep|><|open|>call tool="NAME" index="1"<|sep|><|open|>argument key="KEY" type="string"<|sep|>VALUE<|close|>argument<|sep|>… <|close|>call<|sep|>…<|close|>tools<|sep|>`,
//! as the model's encoder has it. `<|open|>`, `<|close|>`, `<|sep|>` and `<|end_of_msg|>` are
//! tokens, names of channels are text. The value of type `string` is raw text, kept to the byte;
//! that of any other type is JSON. The prompt opens the turn with
//! `<|open|>message role="assistant"<|sep|>` and `<|open|>think<|sep|>`, or with
//! `<|open|>response<|sep|>` where the model is not to think. Instead of arguments a call may have
//! `<|open|>json type="object"<|sep|>{…}<|close|>json<|sep|>`. `params::Blocks` is the state
//! machine. The `index` of a call and the message's own end are markup.

use parser_sdk::params::{BlockFormat, Blocks, Part, Style};
use parser_sdk::{Descriptor, describe};

/// The parser of one stream.
pub type KimiK3 = Blocks<Channels>;

/// The format of the model's encoder.
#[derive(Debug)]
pub struct Channels;

impl BlockFormat for Channels {
    const PARTS: &'static [(&'static str, Part)] = &[
        ("<|open|>think<|sep|>", Part::Think),
        ("<|close|>think<|sep|>", Part::ThinkEnd),
        ("<|open|>response<|sep|>", Part::Content),
        ("<|close|>response<|sep|>", Part::Markup),
        ("<|open|>tools<|sep|>", Part::Block),
        ("<|close|>tools<|sep|>", Part::BlockEnd),
        ("<|open|>call tool=", Part::Call),
        ("<|close|>call<|sep|>", Part::CallEnd),
        ("<|open|>argument key=", Part::Key),
        ("<|close|>argument<|sep|>", Part::ValueEnd),
        ("<|open|>json type=\"object\"<|sep|>", Part::Body),
        ("<|close|>json<|sep|>", Part::BodyEnd),
        ("<|open|>message", Part::TurnTag),
        ("<|close|>message<|sep|>", Part::Markup),
        ("<|sep|>", Part::TagEnd),
        ("<|end_of_msg|>", Part::TurnEnd),
        // Attributes in the other order.
        ("<|open|>call index=", Part::Call),
    ];
    const STYLE: Style = Style::Typed;

    fn describe() -> Descriptor {
        Descriptor {
            reasoning_end: Some("<|close|>think<|sep|><|open|>response<|sep|>".into()),
            ..describe!("kimi-k3", ["kimi_k3"])
        }
    }
}

parser_sdk::export_parser!(KimiK3);
