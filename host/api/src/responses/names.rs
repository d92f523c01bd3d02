//! Names of tools in namespaces: the model sees one flat name, and clients get back namespace and
//! name as they declared them.

use std::collections::HashMap;

/// Map from flat names to namespace and name.
#[derive(Debug, Clone, Default)]
pub(super) struct Namespaces(HashMap<String, (String, String)>);

impl Namespaces {
    /// Adds the flat name `flat` of the tool `name` in `namespace`.
    pub(super) fn insert(&mut self, flat: String, namespace: &str, name: &str) {
        self.0.insert(flat, (namespace.to_owned(), name.to_owned()));
    }

    /// Adds those of `other`.
    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Whether `flat` is the flat name of a tool in a namespace.
    pub(super) fn has(&self, flat: &str) -> bool {
        self.0.contains_key(flat)
    }

    /// Namespace and name of the tool that the model called `flat`. An unknown name is returned
    /// unchanged, without a namespace.
    pub(super) fn split(&self, flat: &str) -> (Option<String>, String) {
        match self.0.get(flat) {
            Some((namespace, name)) => (Some(namespace.clone()), name.clone()),
            None => (None, flat.to_owned()),
        }
    }

    /// Flat names of the tools that `meant` stands for, which is a tool's own name, or the name of
    /// a namespace for all tools in it.
    pub(super) fn meant_by<'a>(&'a self, meant: &'a str) -> impl Iterator<Item = &'a String> {
        let fits = move |namespace: &str, name: &str| namespace == meant || name == meant;
        self.0.iter().filter(move |(_, (namespace, name))| fits(namespace, name)).map(|(flat, _)| flat)
    }
}

/// The flat name: namespace and name with two underscores between, unless the namespace ends in
/// them (`mcp__files__`). A tool in a namespace of its own name has that name: so clients write the
/// calls of a tool that a search found and that has no namespace.
pub(super) fn flat(namespace: &str, name: &str) -> String {
    if namespace == name {
        return name.to_owned();
    }
    let separator = if namespace.ends_with("__") { "" } else { "__" };
    format!("{namespace}{separator}{name}")
}

#[cfg(test)]
mod tests {
    use super::{Namespaces, flat};

    #[test]
    fn flat_names_split_by_declarations_not_spelling() {
        let mut namespaces = Namespaces::default();
        namespaces.insert(flat("a__b", "c"), "a__b", "c");
        assert_eq!(namespaces.split("a__b__c"), (Some("a__b".to_owned()), "c".to_owned()));
        assert_eq!(namespaces.split("x__y"), (None, "x__y".to_owned()));
        assert_eq!(flat("mcp__files__", "read"), "mcp__files__read");
        assert_eq!(flat("send", "send"), "send");
    }

    #[test]
    fn a_choice_may_name_a_tool_or_its_namespace() {
        let mut namespaces = Namespaces::default();
        namespaces.insert(flat("n", "a"), "n", "a");
        namespaces.insert(flat("n", "b"), "n", "b");
        assert_eq!(namespaces.meant_by("a").collect::<Vec<_>>(), ["n__a"]);
        assert_eq!(namespaces.meant_by("n").count(), 2);
        assert_eq!(namespaces.meant_by("c").count(), 0);
    }
}
