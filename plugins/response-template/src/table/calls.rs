//! Reads where a call's name and arguments stand, and how the arguments are spelt.

use super::json::Json;
use super::{Delimiter, Kind, Lines, Parameter, Pattern, Piece, Run, Table, parse};

impl Table {
    /// Reads a `transform`, which says where a call's name and arguments stand.
    pub(super) fn calls(
        &mut self,
        transform: &Json,
        each: bool,
        content: &str,
        args: &Json,
        open: &[Delimiter],
    ) -> Result<Kind, String> {
        let function = transform.get("function").ok_or("transform has no `function`")?;
        let is_json = content == "json";
        if content == "python-call-list" {
            let [name, arguments] = ["name", "arguments"].map(|key| function.text(key).ok().flatten());
            let is_known = each && (name, arguments) == (Some("{name}"), Some("{arguments}"));
            let error = "python-call-list needs transform_each with {name} and {arguments}";
            return if is_known { Ok(Kind::Python) } else { Err(error.into()) };
        }
        let is_dialect = args.is_set("unquoted_keys") || args.get("string_delims").is_some();
        if is_dialect && function.text("arguments").ok().flatten() != Some("{content}") {
            return Err("unquoted_keys and string_delims need the name in open_pattern".into());
        }
        if function.as_text() == Some("{content}") && is_json && !each {
            let [name, arguments] = ["name", "arguments"].map(String::from);
            return Ok(Kind::Objects { path: Vec::new(), name, arguments, listed: false });
        }
        let path_of = |placeholder| {
            let path =
                if each { inside(placeholder)? } else { inside(placeholder)?.strip_prefix("content.")? };
            is_json.then(|| path.split('.').map(str::to_owned).collect::<Vec<_>>())
        };
        if let Some(path) = function.as_text().and_then(path_of) {
            let [name, arguments] = ["name", "arguments"].map(String::from);
            return Ok(Kind::Objects { path, name, arguments, listed: each });
        }
        let (Some(name), Some(arguments)) = (function.text("name")?, function.text("arguments")?) else {
            return Err("transform: function has no name and arguments".into());
        };
        if arguments == "{content}" && !each {
            let name = inside(name).ok_or_else(|| ["transform: ", name, " names nothing"].concat())?;
            if open.iter().any(|open| open.pattern.group() != Some(name)) {
                return Err(["transform: open_pattern has no group '", name, "'"].concat());
            }
            return match content {
                "json" => Ok(self.dialect(args)?.unwrap_or(Kind::Named(None))),
                _ if is_dialect => Err("unquoted_keys and string_delims are of content 'json'".into()),
                "kv-lines" => self.lines(args),
                _ => Ok(Kind::Named(Some(self.written_parameter(args)?))),
            };
        }
        let (name_path, arguments_path) =
            (path_of(name).unwrap_or_default(), path_of(arguments).unwrap_or_default());
        match (name_path.split_last(), arguments_path.split_last()) {
            (Some((name, path)), Some((arguments, same))) if path == same => Ok(Kind::Objects {
                path: path.to_vec(),
                name: name.clone(),
                arguments: arguments.clone(),
                listed: each,
            }),
            _ => Err(["transform: ", name, " and ", arguments, " aren't two keys of one object"].concat()),
        }
    }

    /// The arguments' dialect of JSON, if they have one.
    fn dialect(&mut self, args: &Json) -> Result<Option<Kind>, String> {
        let bare_keys = args.is_set("unquoted_keys");
        let pairs = match args.get("string_delims") {
            None => &[][..],
            Some(Json::List(pairs)) => pairs,
            Some(_) => return Err("string_delims must be a list of pairs".into()),
        };
        let mut strings = Vec::new();
        for pair in pairs {
            let Json::List(pair) = pair else { return Err("string_delims must be a list of pairs".into()) };
            let [Json::Text(open), Json::Text(close)] = &pair[..] else {
                return Err("string_delims must be a list of pairs".into());
            };
            strings.push((self.markers.literal(open)?, self.markers.literal(close)?));
        }
        let is_plain = !bare_keys && strings.is_empty();
        Ok((!is_plain).then_some(Kind::Dialect { bare_keys, strings }))
    }

    /// Reads the `tag_pattern` of `xml-inline` content: literal, key, literal, value, literal.
    fn written_parameter(&mut self, args: &Json) -> Result<Parameter, String> {
        let regex = args.text("tag_pattern")?.ok_or("tag_pattern is missing")?;
        check_value_parser(args)?;
        let merges = args.is_set("merge_duplicates");
        let mut parameter = Parameter { merges, ..Parameter::default() };
        // An optional group comes before its absence.
        for Pattern(pieces) in parse(regex)?.into_iter().rev() {
            self.parameter_spelling(pieces, &mut parameter)?;
        }
        Ok(parameter)
    }

    /// Adds one alternative of a `tag_pattern` to a parameter's spelling.
    fn parameter_spelling(
        &mut self,
        mut pieces: Vec<Piece>,
        parameter: &mut Parameter,
    ) -> Result<(), String> {
        let is_group = |piece: &Piece, name: &str| matches!(piece, Piece::Run(Run { group: Some(group), .. }) if group == name);
        let value = pieces
            .iter()
            .position(|piece| is_group(piece, "value"))
            .ok_or("tag_pattern has no group 'value'")?;
        let mut after = pieces.split_off(value).split_off(1);
        parameter.spaced |= pieces.pop_if(|piece| *piece == Piece::Space).is_some();
        let is_trimmed = after.first() == Some(&Piece::Space);
        after.drain(..usize::from(is_trimmed));
        let [Piece::Literal(end)] = &after[..] else {
            return Err("tag_pattern: literal text must follow the value".into());
        };
        if !pieces.iter().any(|piece| is_group(piece, "key")) {
            return Err("tag_pattern has no group 'key' before its value".into());
        }
        let key = self.markers.delimiter(&pieces)?;
        let spelt_otherwise = self.markers.otherwise(&key.pattern);
        if !parameter.keys.iter().any(|other| other.pattern == key.pattern) {
            parameter.keys.push(key);
            parameter.lenient_keys.extend(spelt_otherwise);
        }
        let mut ends = vec![self.markers.literal(end)?];
        if is_trimmed {
            ends.extend(["\n", "\r\n"].map(|line| self.markers.whole(&[line, end.as_str()].concat())));
        }
        ends.retain(|end| !parameter.ends.iter().any(|other| other.pattern == end.pattern));
        parameter.ends.append(&mut ends);
        Ok(())
    }

    /// Reads how arguments are written as lines. What ends a line is a marker, which no value in a
    /// grammar spells.
    fn lines(&mut self, args: &Json) -> Result<Kind, String> {
        check_value_parser(args)?;
        let [line, key] = [("line_sep", "\n"), ("kv_sep", ":")].map(|(key, usual)| match args.text(key)? {
            Some("") => Err([key, " can't be empty"].concat()),
            text => Ok(text.unwrap_or(usual).to_owned()),
        });
        let (line, key) = (line?, key?);
        self.markers.whole(&line);
        let trims = args.get("strip") != Some(&Json::Bool(false));
        Ok(Kind::Lines(Lines { line, is_token: false, key, trims }))
    }
}

/// Checks that values are plain: the tool's schema types them all.
fn check_value_parser(args: &Json) -> Result<(), String> {
    let parser = args.get("value_parser").and_then(|parser| parser.get("name")?.as_text()).unwrap_or("text");
    match parser {
        "text" | "json" | "int" | "float" | "bool" => Ok(()),
        _ => Err(["value_parser '", parser, "' can't be streamed"].concat()),
    }
}

/// The name in a placeholder, `{NAME}`.
fn inside(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.strip_suffix('}')
}
