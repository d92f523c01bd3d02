//! Arguments of a call, and how functions take them.

use crate::error::{Error, Result};
use crate::print::is_true;
use crate::text::Text;
use crate::value::Value;

/// Values that a call passes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arguments {
    pub(crate) positional: Vec<Value>,
    /// Names are strings with origins, since a mapping of the request may be passed as
    /// `**arguments`.
    pub(crate) keyword: Vec<(Text, Value)>,
}

impl Arguments {
    pub(crate) fn of(positional: Vec<Value>) -> Self {
        Self { positional, keyword: Vec::new() }
    }

    /// Assigns the arguments to parameters; the first `required` must be given. A parameter without
    /// a name is positional only.
    ///
    /// # Errors
    /// Python's `TypeError` for `function`: too many, missing, repeated or unknown arguments.
    pub(crate) fn bind<const N: usize>(
        &self,
        function: &str,
        names: [&str; N],
        required: usize,
    ) -> Result<[Option<Value>; N]> {
        if self.positional.len() > N {
            let given = self.positional.len();
            return Err(Error::runtime(format!("{function}() takes at most {N} arguments ({given} given)")));
        }
        let mut bound = [const { None }; N];
        for (slot, value) in bound.iter_mut().zip(&self.positional) {
            *slot = Some(value.clone());
        }
        for (name, value) in &self.keyword {
            let Some(index) = names.iter().position(|parameter| **parameter == *name.as_str()) else {
                let message = format!("{function}() got an unexpected keyword argument '{}'", name.as_str());
                return Err(Error::runtime(message));
            };
            if bound[index].replace(value.clone()).is_some() {
                let message = format!("{function}() got multiple values for argument '{}'", name.as_str());
                return Err(Error::runtime(message));
            }
        }
        match bound.iter().take(required).position(Option::is_none) {
            Some(index) => {
                let name = names[index];
                Err(Error::runtime(format!("{function}() missing a required argument: '{name}'")))
            }
            None => Ok(bound),
        }
    }

    /// Takes exactly the positional arguments.
    pub(crate) fn exactly<const N: usize>(&self, function: &str) -> Result<[Value; N]> {
        let bound = self.bind(function, [""; N], N)?;
        Ok(bound.map(|value| value.unwrap_or(Value::None)))
    }
}

/// Whether an argument is given and true.
pub(crate) fn flag(value: Option<Value>) -> bool {
    value.is_some_and(|value| is_true(&value))
}
