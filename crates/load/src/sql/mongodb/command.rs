//! A template made ready for MongoDB: the bytes of a command, with places for what changes. What never changes is encoded once.

use super::bson;
use super::{DATABASE, begin_documents, push_database};
use crate::sql::draw::Parameters;
use crate::sql::error::SqlError;
use crate::sql::statement::{Surroundings, TableName};
use model::workload::sql::{Piece, Template};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value as Json;

/// A command, or a document.
#[derive(Debug, Clone)]
pub struct Command {
    /// As it stands in the workload.
    template: Template,
    parts: Vec<Part>,
    /// Documents that stand behind the body.
    documents: Option<Documents>,
    /// Parameters that are drawn before it is sent.
    draws: Vec<usize>,
    /// The database that it is about, if it does not name one itself.
    database: Option<String>,
}

/// Documents of a command: `"documents": "{row*50}"`, or those of a load, which come one by one.
#[derive(Debug, Clone)]
struct Documents {
    name: String,
    row: Box<Command>,
    count: u32,
}

#[derive(Debug, Clone)]
enum Part {
    /// Elements that never change.
    Bytes(Vec<u8>),
    OpenDocument(String),
    OpenArray(String),
    Close,
    Element {
        name: String,
        value: Value,
    },
}

/// What an element is that changes.
#[derive(Debug, Clone)]
enum Value {
    Number {
        parameter: usize,
        plus: i64,
    },
    /// In milliseconds since 1970.
    Date {
        parameter: usize,
        plus: i64,
    },
    Fraction {
        parameter: usize,
        divisor: f64,
    },
    Text {
        parameter: usize,
    },
    List {
        parameter: usize,
        count: u32,
        is_number: bool,
    },
    /// A text with the name or number of the table in it.
    Named(Vec<Piece>),
}

impl Command {
    /// Of a template that is JSON. The error says what of it is none, or which parameter there is not.
    pub fn of(
        template: &Template,
        parameters: &mut Parameters,
        surroundings: Surroundings<'_>,
    ) -> Result<Command, SqlError> {
        let text = template.to_string();
        let json: Json = serde_json::from_str(&text)
            .map_err(|error| SqlError::Workload(format!("`{text}` is no JSON: {error}")))?;
        let Json::Object(elements) = json else {
            return Err(SqlError::Workload(format!("`{text}` is no document of JSON")));
        };
        let mut made = Command {
            template: template.clone(),
            parts: Vec::new(),
            documents: None,
            draws: Vec::new(),
            database: (!elements.contains_key(DATABASE)).then(|| surroundings.database.to_owned()),
        };
        let mut maker = Maker { command: &mut made, parameters, surroundings };
        elements.iter().try_for_each(|(name, value)| maker.top_level(name, value))?;
        Ok(made)
    }

    /// The JSON, with the name of the table in it.
    pub fn text(&self, table: &TableName) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Table => table.name.clone(),
            Piece::Number => table.number.to_string(),
            other => Template(vec![other.clone()]).to_string(),
        };
        self.template.0.iter().map(piece).collect()
    }

    pub fn draw(&self, parameters: &mut Parameters, random: &mut Xoshiro256PlusPlus) {
        self.draws.iter().for_each(|parameter| parameters.draw(*parameter, random));
    }

    /// The body of a message, and the section of documents if it has one, at the end of a buffer.
    #[inline]
    pub fn push(
        &self,
        table: &TableName,
        parameters: &mut Parameters,
        random: &mut Xoshiro256PlusPlus,
        out: &mut Vec<u8>,
    ) {
        self.push_body(self.database.as_deref(), table, parameters, random, out);
        if let Some(documents) = &self.documents {
            begin_documents(out, &documents.name);
            for _ in 0..documents.count {
                documents.row.draw(parameters, random);
                documents.row.push_document(table, parameters, random, out);
            }
        }
    }

    /// The same as a document of another command.
    #[inline]
    pub fn push_document(
        &self,
        table: &TableName,
        parameters: &mut Parameters,
        random: &mut Xoshiro256PlusPlus,
        out: &mut Vec<u8>,
    ) {
        self.push_body(None, table, parameters, random, out);
    }

    #[inline]
    fn push_body(
        &self,
        database: Option<&str>,
        table: &TableName,
        parameters: &mut Parameters,
        random: &mut Xoshiro256PlusPlus,
        out: &mut Vec<u8>,
    ) {
        let start = bson::open(out);
        self.push_elements(table, parameters, random, out);
        if let Some(database) = database {
            push_database(out, database);
        }
        bson::close(out, start);
    }

    #[inline]
    fn push_elements(
        &self,
        table: &TableName,
        parameters: &mut Parameters,
        random: &mut Xoshiro256PlusPlus,
        out: &mut Vec<u8>,
    ) {
        let mut open = [0; MOST_LEVELS];
        let mut levels = 0;
        for part in &self.parts {
            match part {
                Part::Bytes(bytes) => out.extend_from_slice(bytes),
                Part::OpenDocument(name) | Part::OpenArray(name) => {
                    open[levels] = if matches!(part, Part::OpenArray(_)) {
                        bson::open_array(out, name)
                    } else {
                        bson::open_document(out, name)
                    };
                    levels += 1;
                }
                Part::Close => {
                    levels -= 1;
                    bson::close(out, open[levels]);
                }
                Part::Element { name, value } => push_value(name, value, table, parameters, random, out),
            }
        }
    }
}

/// Documents in documents that hold something which changes.
const MOST_LEVELS: usize = 16;

#[inline]
fn push_value(
    name: &str,
    value: &Value,
    table: &TableName,
    parameters: &Parameters,
    random: &mut Xoshiro256PlusPlus,
    out: &mut Vec<u8>,
) {
    match value {
        Value::Number { parameter, plus } => {
            bson::push_number(out, name, parameters.number(*parameter).wrapping_add(*plus));
        }
        Value::Date { parameter, plus } => {
            bson::push_date(out, name, parameters.number(*parameter).wrapping_add(*plus));
        }
        Value::Fraction { parameter, divisor } => {
            bson::push_double(out, name, parameters.number(*parameter) as f64 / divisor);
        }
        Value::Text { parameter } => {
            bson::push_text(out, name, |out| out.extend_from_slice(parameters.text(*parameter)));
        }
        Value::List { parameter, count, is_number } => {
            let start = bson::open_array(out, name);
            let mut place_name = [0; 10];
            for place in 0..*count {
                let place_name = decimal(place, &mut place_name);
                if *is_number {
                    bson::push_number(out, place_name, parameters.fresh(*parameter, place, random));
                } else {
                    bson::push_text(out, place_name, |out| {
                        parameters.push_fresh_text(*parameter, out, random)
                    });
                }
            }
            bson::close(out, start);
        }
        Value::Named(pieces) => bson::push_text(out, name, |out| {
            for piece in pieces {
                match piece {
                    Piece::Table => out.extend_from_slice(table.name.as_bytes()),
                    Piece::Number => out.extend_from_slice(table.number.to_string().as_bytes()),
                    Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                    _ => {}
                }
            }
        }),
    }
}

/// A number in decimal digits.
fn decimal(number: u32, digits: &mut [u8; 10]) -> &str {
    let mut first = digits.len();
    let mut left = number;
    loop {
        first -= 1;
        digits[first] = b'0' + u8::try_from(left % 10).unwrap_or_default();
        left /= 10;
        if left == 0 {
            break;
        }
    }
    str::from_utf8(&digits[first..]).unwrap_or_default()
}

/// Turns JSON into the parts of a command.
struct Maker<'a, 'b> {
    command: &'a mut Command,
    parameters: &'a mut Parameters,
    surroundings: Surroundings<'b>,
}

impl Maker<'_, '_> {
    fn top_level(&mut self, name: &str, value: &Json) -> Result<(), SqlError> {
        if let Json::String(text) = value
            && let [Piece::Rows { count }] = pieces(text)?.as_slice()
        {
            let row = self.surroundings.row.ok_or_else(|| self.problem("there is no row for", text))?;
            // A row has no rows in it.
            let surroundings = Surroundings { row: None, ..self.surroundings };
            let row = Box::new(Command::of(row, self.parameters, surroundings)?);
            self.command.documents = Some(Documents { name: name.to_owned(), row, count: *count });
            return Ok(());
        }
        self.element(name, value, 1)
    }

    fn element(&mut self, name: &str, value: &Json, level: usize) -> Result<(), SqlError> {
        if level > MOST_LEVELS {
            return Err(self.problem("there are too many documents in documents at", name));
        }
        match value {
            Json::Object(elements) if date_in(elements).is_some() => {
                let text = date_in(elements).unwrap_or_default();
                let value = match self.value(text)? {
                    Value::Number { parameter, plus } => Value::Date { parameter, plus },
                    _ => return Err(self.problem("a date must be a number of milliseconds, not", text)),
                };
                self.command.parts.push(Part::Element { name: name.to_owned(), value });
            }
            Json::String(text) if text.contains('{') => {
                let value = self.value(text)?;
                self.command.parts.push(Part::Element { name: name.to_owned(), value });
            }
            Json::Object(elements) if changes(value) => {
                self.command.parts.push(Part::OpenDocument(name.to_owned()));
                elements.iter().try_for_each(|(name, value)| self.element(name, value, level + 1))?;
                self.command.parts.push(Part::Close);
            }
            Json::Array(values) if changes(value) => {
                self.command.parts.push(Part::OpenArray(name.to_owned()));
                for (place, value) in values.iter().enumerate() {
                    self.element(&place.to_string(), value, level + 1)?;
                }
                self.command.parts.push(Part::Close);
            }
            constant => {
                if !matches!(self.command.parts.last(), Some(Part::Bytes(_))) {
                    self.command.parts.push(Part::Bytes(Vec::new()));
                }
                if let Some(Part::Bytes(bytes)) = self.command.parts.last_mut() {
                    bson::push_json(bytes, name, constant);
                }
            }
        }
        Ok(())
    }

    fn value(&mut self, text: &str) -> Result<Value, SqlError> {
        let pieces = pieces(text)?;
        let (name, value) = match pieces.as_slice() {
            [Piece::Value { name, plus }] => (name, (*plus, None, None)),
            [Piece::Fraction { name, divisor }] => (name, (0, Some(*divisor), None)),
            [Piece::List { name, count }] => (name, (0, None, Some(*count))),
            pieces
                if pieces.iter().all(|one| matches!(one, Piece::Text(_) | Piece::Table | Piece::Number)) =>
            {
                return Ok(Value::Named(pieces.to_vec()));
            }
            _ => return Err(self.problem("a place must be all of its text, in", text)),
        };
        let (plus, divisor, list) = value;
        let parameter = match list {
            Some(_) => self.parameters.using_in_list(name)?,
            None => self.parameters.using(name)?,
        };
        let is_number = self.parameters.is_number(parameter);
        if !is_number && (plus != 0 || divisor.is_some()) {
            return Err(self.problem("a text cannot be reckoned with, in", text));
        }
        if list.is_none() {
            self.drawn(parameter);
        }
        Ok(match (list, divisor) {
            (Some(count), _) => Value::List { parameter, count, is_number },
            (None, Some(divisor)) => Value::Fraction { parameter, divisor: f64::from(divisor) },
            (None, None) if is_number => Value::Number { parameter, plus },
            (None, None) => Value::Text { parameter },
        })
    }

    /// It is drawn before the command is sent, after the one that it is near.
    fn drawn(&mut self, parameter: usize) {
        for parameter in self.parameters.near(parameter).into_iter().chain([parameter]) {
            if self.parameters.is_of_statement(parameter) && !self.command.draws.contains(&parameter) {
                self.command.draws.push(parameter);
            }
        }
    }

    fn problem(&self, problem: &str, text: &str) -> SqlError {
        SqlError::Workload(format!("{problem} `{text}`, in `{}`", self.command.template))
    }
}

fn pieces(text: &str) -> Result<Vec<Piece>, SqlError> {
    Ok(Template::try_from(text.to_owned()).map_err(SqlError::Workload)?.0)
}

/// The text of a date as extended JSON has it: `{"$date": "{now}"}`.
fn date_in(elements: &serde_json::Map<String, Json>) -> Option<&str> {
    if elements.len() == 1 { elements.get("$date")?.as_str() } else { None }
}

/// Whether something in it has places.
fn changes(value: &Json) -> bool {
    match value {
        Json::String(text) => text.contains('{'),
        Json::Array(values) => values.iter().any(changes),
        Json::Object(elements) => elements.values().any(changes),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}
