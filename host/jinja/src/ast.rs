//! Program of a template: what `parser` makes and `eval` runs.

use std::sync::Arc;

use crate::names::{Filter, Test};
use crate::text::Text;
use crate::value::Value;

/// Number of a name in the template's table of names.
pub(crate) type Symbol = u32;

/// Parsed template.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) body: Vec<Statement>,
    /// Macros, and bodies of `{% call %}`, by number.
    pub(crate) macros: Vec<Macro>,
    /// Names of variables, by symbol.
    pub(crate) names: Vec<Arc<str>>,
}

#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) line: u32,
    pub(crate) kind: StatementKind,
}

#[derive(Debug)]
pub(crate) enum StatementKind {
    /// Raw text.
    Text(Text),
    Print(Expression),
    Set(Target, Expression),
    SetBlock {
        target: Target,
        filter: Option<Expression>,
        body: Vec<Statement>,
    },
    /// Branches with conditions, and the body of `else`.
    If(Vec<(Expression, Vec<Statement>)>, Vec<Statement>),
    For(Box<For>),
    With(Vec<(Target, Expression)>, Vec<Statement>),
    /// Definition of a macro by number.
    Macro(Symbol, usize),
    /// Call with the macro of this number as `caller`.
    CallBlock(usize, Expression),
    FilterBlock(Expression, Vec<Statement>),
    AutoEscape(Expression, Vec<Statement>),
    /// `{% block %}`, whose body sees the template's own variables only, unless it is scoped.
    Block(bool, Vec<Statement>),
    /// `{% generation %}`, which transformers marks for training.
    Generation(Vec<Statement>),
    Break,
    Continue,
    /// A statement that needs other templates. There are none, so it fails when it is reached.
    NeedsLoader(&'static str),
}

#[derive(Debug)]
pub(crate) struct For {
    pub(crate) target: Target,
    pub(crate) items: Expression,
    pub(crate) filter: Option<Expression>,
    pub(crate) recursive: bool,
    pub(crate) body: Vec<Statement>,
    pub(crate) otherwise: Vec<Statement>,
}

#[derive(Debug)]
pub(crate) struct Macro {
    pub(crate) name: Arc<str>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Vec<Statement>,
    /// Names that the body reads and that change what a call may pass.
    pub(crate) takes_varargs: bool,
    pub(crate) takes_kwargs: bool,
    pub(crate) takes_caller: bool,
}

/// Parameter of a macro, with its default.
pub(crate) type Parameter = (Symbol, Arc<str>, Option<Expression>);

/// What an assignment assigns to.
#[derive(Debug)]
pub(crate) enum Target {
    Name(Symbol),
    Tuple(Vec<Target>),
    /// Attribute of a namespace.
    Attribute(Symbol, Arc<str>),
}

#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) line: u32,
    /// Levels of the tree.
    pub(crate) height: u16,
    pub(crate) kind: ExpressionKind,
}

#[derive(Debug)]
pub(crate) enum ExpressionKind {
    Constant(Value),
    Name(Symbol),
    List(Vec<Expression>),
    Tuple(Vec<Expression>),
    Dict(Vec<(Expression, Expression)>),
    Negative(Box<Expression>),
    Positive(Box<Expression>),
    Not(Box<Expression>),
    And(Box<[Expression; 2]>),
    Or(Box<[Expression; 2]>),
    Binary(BinaryOp, Box<[Expression; 2]>),
    Concat(Vec<Expression>),
    Compare(Box<Expression>, Vec<(CompareOp, Expression)>),
    /// `then if test else otherwise`.
    Conditional {
        test: Box<Expression>,
        then: Box<Expression>,
        otherwise: Option<Box<Expression>>,
    },
    Attribute(Box<Expression>, Arc<str>),
    Item(Box<[Expression; 2]>),
    /// `value[start:stop:step]`.
    Slice(Box<Expression>, Box<[Option<Expression>; 3]>),
    Call(Box<Expression>, CallArguments),
    /// A filter; without a value it takes the body of its block.
    Filter(Option<Box<Expression>>, Filter, CallArguments),
    Test(Box<Expression>, Test, CallArguments),
    /// A filter or test of this name that doesn't exist, in a branch that may never be reached.
    Unknown(String),
}

impl ExpressionKind {
    /// Whether the value is a new one, whose memory counts.
    pub(crate) fn makes_value(&self) -> bool {
        matches!(
            self,
            Self::Binary(..) | Self::Concat(_) | Self::Slice(..) | Self::Call(..) | Self::Filter(..)
        )
    }

    /// Calls `visit` with each expression that this one is directly made of.
    pub(crate) fn each_child(&self, visit: &mut dyn FnMut(&Expression)) {
        let (one, many, arguments): (Option<&Expression>, &[Expression], _) = match self {
            Self::Constant(_) | Self::Name(_) | Self::Unknown(_) => (None, &[], None),
            Self::List(items) | Self::Tuple(items) | Self::Concat(items) => (None, items, None),
            Self::Dict(entries) => {
                for (key, value) in entries {
                    visit(key);
                    visit(value);
                }
                (None, &[], None)
            }
            Self::Negative(inner) | Self::Positive(inner) | Self::Not(inner) => (Some(inner), &[], None),
            Self::Attribute(owner, _) => (Some(owner), &[], None),
            Self::And(sides) | Self::Or(sides) | Self::Binary(_, sides) | Self::Item(sides) => {
                (None, &sides[..], None)
            }
            Self::Compare(first, rest) => {
                for (_, side) in rest {
                    visit(side);
                }
                (Some(first), &[], None)
            }
            Self::Conditional { test, then, otherwise } => {
                otherwise.as_deref().into_iter().chain([&**test]).for_each(&mut *visit);
                (Some(then), &[], None)
            }
            Self::Slice(value, bounds) => {
                bounds.iter().flatten().for_each(&mut *visit);
                (Some(value), &[], None)
            }
            Self::Call(value, arguments) | Self::Test(value, _, arguments) => {
                (Some(value), &[], Some(arguments))
            }
            Self::Filter(value, _, arguments) => (value.as_deref(), &[], Some(arguments)),
        };
        one.into_iter().chain(many).for_each(&mut *visit);
        let Some(CallArguments { positional, keyword, more_positional, more_keyword }) = arguments else {
            return;
        };
        let more = [more_positional, more_keyword].into_iter().filter_map(|more| more.as_deref());
        let keyword = keyword.iter().map(|(_, value)| value);
        positional.iter().chain(keyword).chain(more).for_each(visit);
    }
}

/// Arguments of a call as they are written.
#[derive(Debug, Default)]
pub(crate) struct CallArguments {
    pub(crate) positional: Vec<Expression>,
    pub(crate) keyword: Vec<(Text, Expression)>,
    /// `*arguments` and `**arguments`.
    pub(crate) more_positional: Option<Box<Expression>>,
    pub(crate) more_keyword: Option<Box<Expression>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
}

impl BinaryOp {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::FloorDiv => "//",
            Self::Mod => "%",
            Self::Pow => "** or pow()",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

impl CompareOp {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
            Self::NotIn => "not in",
        }
    }
}
