//! Holds JSON against docs/schema/report.schema.json, strictly: a key that the schema does not name is a mistake here,
//! though readers have to bear it. Knows the part of JSON Schema that the file uses, and refuses any other.

use serde_json::Value;

const SCHEMA: &str = include_str!("../../../docs/schema/report.schema.json");
const PAGE: &str = include_str!("../../../docs/json.md");

/// Panics with all that is wrong with a document that should be the `definition` of the schema.
pub(crate) fn check(definition: &str, json: &str) {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let document: Value = serde_json::from_str(json).unwrap();
    let mut problems = Vec::new();
    hold(&document, &schema["$defs"][definition], &schema, definition, &mut problems);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn hold(value: &Value, rule: &Value, schema: &Value, place: &str, problems: &mut Vec<String>) {
    let rule = rule.as_object().unwrap_or_else(|| panic!("{place}: the schema has no rule"));
    for (keyword, wanted) in rule {
        match keyword.as_str() {
            "description" | "properties" => {}
            "$ref" => {
                let name = wanted.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                hold(value, &schema["$defs"][name], schema, place, problems);
            }
            "type" => {
                let types: Vec<&str> = match wanted {
                    Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
                    one => vec![one.as_str().unwrap()],
                };
                if !types.iter().any(|name| is_of_type(value, name)) {
                    problems.push(format!("{place} is {value}, not {types:?}"));
                }
            }
            "const" if value != wanted => problems.push(format!("{place} is {value}, not {wanted}")),
            "const" => {}
            "enum" if !wanted.as_array().unwrap().contains(value) => {
                problems.push(format!("{place} is {value}, none of {wanted}"));
            }
            "enum" => {}
            "required" => {
                let missing = wanted.as_array().unwrap().iter().filter_map(Value::as_str);
                problems.extend(
                    missing
                        .filter(|key| value.get(key).is_none())
                        .map(|key| format!("{place}.{key} is missing")),
                );
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    hold(item, wanted, schema, &format!("{place}[{index}]"), problems);
                }
            }
            "additionalProperties" => {
                for (key, item) in value.as_object().into_iter().flatten() {
                    hold(item, wanted, schema, &format!("{place}.{key}"), problems);
                }
            }
            other => panic!("{place}: the schema uses `{other}`, which is not checked here"),
        }
    }
    let Some(properties) = rule.get("properties").and_then(Value::as_object) else { return };
    for (key, item) in value.as_object().into_iter().flatten() {
        match properties.get(key) {
            Some(rule) => hold(item, rule, schema, &format!("{place}.{key}"), problems),
            None => problems.push(format!("{place}.{key} is not in the schema")),
        }
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("`{other}` is no type"),
    }
}

#[test]
fn the_page_names_every_key_of_the_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        let heading = [format!("\n## {name}\n"), format!("\n### {name}\n")];
        let start = heading.iter().find_map(|heading| PAGE.find(heading)).unwrap_or_else(|| panic!("{name}"));
        let section = &PAGE[start + 1..];
        let section = section.split_once("\n#").map_or(section, |(section, _)| section);
        let keys: Vec<&str> =
            definition["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let shown: Vec<&str> =
            section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        let sorted = |mut keys: Vec<&str>| {
            keys.sort_unstable();
            keys.join(" ")
        };
        assert_eq!(sorted(shown), sorted(keys), "{name}");
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let found = |json: &str| {
        let result = std::panic::catch_unwind(|| check("trials", json));
        *result.unwrap_err().downcast::<String>().unwrap()
    };
    assert_eq!(found(r#"{"done": 1, "failed": 0}"#), "trials.skipped is missing");
    assert_eq!(
        found(r#"{"done": "1", "failed": 0, "skipped": 0}"#),
        "trials.done is \"1\", not [\"integer\"]"
    );
    assert_eq!(found(r#"{"done": 1, "failed": 0, "skipped": 0, "x": 0}"#), "trials.x is not in the schema");
}
