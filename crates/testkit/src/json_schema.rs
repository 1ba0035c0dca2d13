//! Holds documents against a JSON Schema of ours: 2020-12, Core and Validation, as far as our schemas go. A word that it
//! does not know fails, so that no rule is passed over. For the tests of whoever writes or reads such documents.

use regex_lite::Regex;
use serde_json::{Map, Value, json};

/// Holds documents against one schema.
pub struct Checker<'a> {
    schema: &'a Value,
    /// The schema's file.
    file: &'a str,
    /// What is not as the schema says.
    pub problems: Vec<String>,
}

impl<'a> Checker<'a> {
    /// With the name of the schema's file, for messages.
    pub fn new(schema: &'a Value, file: &'a str) -> Checker<'a> {
        Checker { schema, file, problems: Vec::new() }
    }

    /// Holds a document against the schema; `place` is what messages call it.
    pub fn check(&mut self, document: &Value, place: &str) {
        self.hold(self.schema, document, place);
    }

    fn hold(&mut self, schema: &'a Value, value: &Value, place: &str) {
        for (word, rule) in schema.as_object().expect("a schema is an object") {
            match word.as_str() {
                "$schema" | "$defs" | "title" | "description" | "patternProperties" => {}
                "$ref" => {
                    let pointer = rule.as_str().and_then(|path| path.strip_prefix('#')).expect("ours");
                    let definition = self.schema.pointer(pointer).expect("it is defined");
                    self.hold(definition, value, place);
                }
                "type" => self.require(has_type(rule, value), place, &format!("is not {rule}")),
                "const" => self.require(rule == value, place, &format!("is not {rule}")),
                "enum" => {
                    let allowed = rule.as_array().expect("a list");
                    self.require(allowed.contains(value), place, &format!("is none of {rule}"));
                }
                "minimum" => {
                    let enough =
                        value.as_f64().is_none_or(|number| number >= rule.as_f64().expect("a number"));
                    self.require(enough, place, &format!("is below {rule}"));
                }
                "maximum" => {
                    let few = value.as_f64().is_none_or(|number| number <= rule.as_f64().expect("a number"));
                    self.require(few, place, &format!("is above {rule}"));
                }
                "minItems" => {
                    let enough =
                        value.as_array().is_none_or(|items| json!(items.len()).as_u64() >= rule.as_u64());
                    self.require(enough, place, &format!("has fewer than {rule}"));
                }
                "pattern" => {
                    let pattern = Regex::new(rule.as_str().expect("a text")).expect("a pattern");
                    let fits = value.as_str().is_none_or(|text| pattern.is_match(text));
                    self.require(fits, place, &format!("is not like {rule}"));
                }
                "anyOf" => self.check_any(rule.as_array().expect("a list"), value, place),
                "items" => {
                    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.hold(rule, item, &format!("{place}[{at}]"));
                    }
                }
                "required" => {
                    for name in rule.as_array().expect("a list").iter().filter_map(Value::as_str) {
                        let has_it = value.as_object().is_none_or(|object| object.contains_key(name));
                        self.require(has_it, place, &format!("lacks {name}"));
                    }
                }
                "properties" => self.check_properties(schema, value, place),
                "additionalProperties" => self.check_others(schema, value, place),
                unknown => panic!("the checker does not know the word {unknown} of the schema: teach it"),
            }
        }
    }

    fn check_any(&mut self, schemas: &'a [Value], value: &Value, place: &str) {
        let mut nearest: Option<Vec<String>> = None;
        for schema in schemas {
            let mut attempt = Checker::new(self.schema, self.file);
            attempt.hold(schema, value, place);
            if attempt.problems.is_empty() {
                return;
            }
            // An object is held against an object, so that what is wrong in it is told.
            if nearest.is_none()
                || value.is_object()
                    && schema.get("enum").is_none()
                    && schema.get("type") != Some(&json!("null"))
            {
                nearest = Some(attempt.problems);
            }
        }
        self.problems.extend(nearest.into_iter().flatten());
    }

    fn check_properties(&mut self, schema: &'a Value, value: &Value, place: &str) {
        let known = schema["properties"].as_object().expect("an object");
        for (name, property) in value.as_object().into_iter().flatten() {
            if let Some(rule) = known.get(name) {
                self.hold(rule, property, &format!("{place}.{name}"));
            }
        }
    }

    fn check_others(&mut self, schema: &'a Value, value: &Value, place: &str) {
        let known = schema.get("properties").and_then(Value::as_object);
        let others = value.as_object().into_iter().flatten();
        for (name, property) in
            others.filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name)))
        {
            let place_of_it = format!("{place}.{name}");
            if let Some(rule) = fitting(schema.get("patternProperties").and_then(Value::as_object), name) {
                self.hold(rule, property, &place_of_it);
                continue;
            }
            match &schema["additionalProperties"] {
                Value::Bool(false) => self.problems.push(format!(
                    "{place} has {name}, which {} does not know: add it there, with its description",
                    self.file
                )),
                rule => self.hold(rule, property, &place_of_it),
            }
        }
    }

    fn require(&mut self, holds: bool, place: &str, what: &str) {
        if !holds {
            self.problems.push(format!("{place} {what}"));
        }
    }
}

/// The rule for names that are like a pattern.
fn fitting<'a>(patterns: Option<&'a Map<String, Value>>, name: &str) -> Option<&'a Value> {
    let fits = |pattern: &str| Regex::new(pattern).expect("a pattern").is_match(name);
    patterns?.iter().find(|(pattern, _)| fits(pattern)).map(|(_, rule)| rule)
}

/// Whether a value is of a type, or of one of several.
fn has_type(rule: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        unknown => panic!("there is no type {unknown}"),
    };
    match rule {
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        name => is(name.as_str().expect("the name of a type")),
    }
}
