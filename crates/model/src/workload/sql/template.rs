//! Statements with places for what changes.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A statement, or a part of one, with places for what changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template(pub Vec<Piece>);

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Table,
    Number,
    Storage,
    /// The value of a parameter, plus a number.
    Value {
        name: String,
        plus: i64,
    },
    /// The value of a parameter, divided by a number: with decimals.
    Fraction {
        name: String,
        divisor: u32,
    },
    /// Fresh values of a parameter, separated by commas.
    List {
        name: String,
        count: u32,
    },
    /// Rows as the load inserts them, with fresh values, separated by commas.
    Rows {
        count: u32,
    },
}

impl Template {
    /// Names of the parameters in it.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value { name, .. } | Piece::Fraction { name, .. } | Piece::List { name, .. } => {
                Some(name.as_str())
            }
            Piece::Text(_) | Piece::Table | Piece::Number | Piece::Storage | Piece::Rows { .. } => None,
        })
    }

    /// Whether it has rows in it, which can only be sent as text.
    pub fn has_rows(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Rows { .. }))
    }
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Template, String> {
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        while let Some(open) = place_in(rest) {
            let inner = &rest[open + 1..];
            let close = inner.find('}').ok_or_else(|| format!("a `{{` is not closed in `{text}`"))?;
            if open > 0 {
                pieces.push(Piece::Text(rest[..open].to_owned()));
            }
            pieces.push(place(&inner[..close]).map_err(|problem| format!("{problem} in `{text}`"))?);
            rest = &inner[close + 1..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Template(pieces))
    }
}

/// Where the next place begins. A brace before a quotation mark, a space or its end is text: JSON has such.
fn place_in(text: &str) -> Option<usize> {
    let is_place = |after: &str| !after.starts_with(['"', ' ', '\t', '\n', '\r', '}']);
    text.match_indices('{').map(|(open, _)| open).find(|open| is_place(&text[open + 1..]))
}

/// Longer lists than this are a mistake: MySQL has at most 65,535 placeholders in a statement.
const LONGEST_LIST: u32 = 65_535;

/// What stands for a row of the load; no parameter can have this name.
pub const ROW: &str = "row";

fn place(text: &str) -> Result<Piece, String> {
    let end = text.find(['+', '-', '*', '/']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() || !name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_') {
        return Err(format!("`{{{text}}}` names no parameter"));
    }
    let name = name.to_owned();
    if let Some(divisor) = rest.strip_prefix('/') {
        return match divisor.parse() {
            Ok(divisor @ 1..) => Ok(Piece::Fraction { name, divisor }),
            _ => Err(format!("`{{{text}}}` divides by no whole number from 1 on")),
        };
    }
    if let Some(count) = rest.strip_prefix('*') {
        return match count.parse() {
            Ok(count @ 1..=LONGEST_LIST) if name == ROW => Ok(Piece::Rows { count }),
            Ok(count @ 1..=LONGEST_LIST) => Ok(Piece::List { name, count }),
            _ => Err(format!("`{{{text}}}` needs a count of 1 to {LONGEST_LIST}")),
        };
    }
    Ok(match (name.as_str(), rest) {
        ("table", "") => Piece::Table,
        ("number", "") => Piece::Number,
        ("storage", "") => Piece::Storage,
        (_, "") => Piece::Value { name, plus: 0 },
        (_, rest) => {
            let plus = rest.parse().map_err(|_| format!("`{{{text}}}` adds no whole number"))?;
            Piece::Value { name, plus }
        }
    })
}

impl From<Template> for String {
    fn from(template: Template) -> String {
        template.to_string()
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => f.write_str(text)?,
                Piece::Table => f.write_str("{table}")?,
                Piece::Number => f.write_str("{number}")?,
                Piece::Storage => f.write_str("{storage}")?,
                Piece::Value { name, plus: 0 } => write!(f, "{{{name}}}")?,
                Piece::Value { name, plus } => write!(f, "{{{name}{plus:+}}}")?,
                Piece::Fraction { name, divisor } => write!(f, "{{{name}/{divisor}}}")?,
                Piece::List { name, count } => write!(f, "{{{name}*{count}}}")?,
                Piece::Rows { count } => write!(f, "{{{ROW}*{count}}}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Template {
        Template::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn a_template_is_read_and_written_back() {
        let text = "SELECT c FROM {table} WHERE id BETWEEN {from} AND {from+99} OR id IN ({id*10}) -- {number} {row*3}";
        let read = template(text);
        assert_eq!(read.to_string(), text);
        assert_eq!(read.parameters().collect::<Vec<_>>(), ["from", "from", "id"]);
        for (wrong, expected) in [
            ("{a", "not closed"),
            ("{*2}", "names no parameter"),
            ("{a*0}", "count"),
            ("{a+x}", "adds no"),
            ("{a/0}", "divides by no"),
        ] {
            let error = Template::try_from(wrong.to_owned()).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn braces_of_json_are_text() {
        let text = r#"{"find": "{table}", "filter": {"_id": "{id}", "price": "{price/100}"}, "sort": {}}"#;
        let read = template(text);
        assert_eq!(read.to_string(), text);
        assert_eq!(read.parameters().collect::<Vec<_>>(), ["id", "price"]);
        assert_eq!(read.0.len(), 7);
    }
}
