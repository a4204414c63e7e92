//! BSON as it lies in a message: elements are read in place, and checked as they are read. Source: bsonspec.org, version 1.1.
//!
//! Our own, and no library: what a client needs are these lines, and a library of the format brings two dozen packages with it.

use super::super::error::WireError;
use serde_json::Value as Json;

/// A value of an element. Of kinds that no answer is judged by only the bytes are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    Double(f64),
    Text(&'a str),
    Document(Document<'a>),
    /// A document whose names are the places.
    Array(Document<'a>),
    Bool(bool),
    /// Milliseconds since 1970.
    Date(i64),
    Null,
    Int32(i32),
    Int64(i64),
    ObjectId(&'a [u8]),
    Other(&'a [u8]),
}

impl<'a> Value<'a> {
    /// A whole number, of whatever kind it was sent as.
    pub fn whole(self) -> Option<i64> {
        match self {
            Value::Int32(number) => Some(i64::from(number)),
            Value::Int64(number) => Some(number),
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and within the range")]
            Value::Double(number) if number.fract() == 0.0 && number.abs() < EXACT => Some(number as i64),
            _ => None,
        }
    }

    /// Whether a server means yes: `true`, or any number but 0.
    pub fn is_true(self) -> bool {
        match self {
            Value::Bool(value) => value,
            Value::Double(number) => number != 0.0,
            other => other.whole().is_some_and(|number| number != 0),
        }
    }

    pub fn text(self) -> Option<&'a str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    pub fn document(self) -> Option<Document<'a>> {
        if let Value::Document(document) = self { Some(document) } else { None }
    }

    pub fn array(self) -> Option<Document<'a>> {
        if let Value::Array(array) = self { Some(array) } else { None }
    }
}

/// Whole numbers up to this have a double of their own.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A document or an array: its elements, without its length and the zero at its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Document<'a>(&'a [u8]);

const CUT: WireError = WireError::Malformed("a document ends before what it announces");

impl<'a> Document<'a> {
    /// The document at the beginning of these bytes, and what follows it.
    pub fn split(bytes: &'a [u8]) -> Result<(Document<'a>, &'a [u8]), WireError> {
        let mut rest = bytes;
        let length = usize::try_from(take_i32(&mut rest)?).map_err(|_| CUT)?;
        let (document, rest) = bytes.split_at_checked(length).ok_or(CUT)?;
        match document {
            [_, _, _, _, elements @ .., 0] => Ok((Document(elements), rest)),
            _ => Err(CUT),
        }
    }

    /// Its elements as they lie there.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Its elements in their order, up to the first that is none.
    pub fn elements(self) -> Elements<'a> {
        Elements(self.0)
    }

    /// The first element of this name.
    pub fn get(self, name: &str) -> Result<Option<Value<'a>>, WireError> {
        for element in self.elements() {
            let (found, value) = element?;
            if found == name {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// How many elements it has.
    pub fn count(self) -> Result<u64, WireError> {
        self.elements().try_fold(0, |count, element| element.map(|_| count + 1))
    }
}

/// The elements of a document.
pub struct Elements<'a>(&'a [u8]);

#[cfg(test)]
impl<'a> Elements<'a> {
    /// The bytes of those that are still to come.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<(&'a str, Value<'a>), WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let element = element(&mut self.0);
        if element.is_err() {
            self.0 = &[];
        }
        Some(element)
    }
}

const DOUBLE: u8 = 0x01;
const TEXT: u8 = 0x02;
const DOCUMENT: u8 = 0x03;
const ARRAY: u8 = 0x04;
const BINARY: u8 = 0x05;
const BOOL: u8 = 0x08;
const DATE: u8 = 0x09;
const NULL: u8 = 0x0a;
const INT32: u8 = 0x10;
const INT64: u8 = 0x12;

fn element<'a>(rest: &mut &'a [u8]) -> Result<(&'a str, Value<'a>), WireError> {
    let kind = take(rest, 1)?[0];
    let name = take_name(rest)?;
    let value = match kind {
        DOUBLE => Value::Double(f64::from_le_bytes(take_8(rest)?)),
        TEXT | 0x0d | 0x0e => Value::Text(take_text(rest)?),
        DOCUMENT | ARRAY => {
            let (document, after) = Document::split(rest)?;
            *rest = after;
            if kind == ARRAY { Value::Array(document) } else { Value::Document(document) }
        }
        BINARY => {
            let length = usize::try_from(take_i32(rest)?).map_err(|_| CUT)?;
            // Before the bytes is what kind they are.
            take(rest, 1)?;
            Value::Other(take(rest, length)?)
        }
        0x06 | NULL | 0x7f | 0xff => Value::Null,
        0x07 => Value::ObjectId(take(rest, 12)?),
        BOOL => Value::Bool(take(rest, 1)?[0] != 0),
        DATE => Value::Date(i64::from_le_bytes(take_8(rest)?)),
        0x0b => {
            let pattern = take_name(rest)?;
            take_name(rest)?;
            Value::Other(pattern.as_bytes())
        }
        0x0c => {
            let namespace = take_text(rest)?;
            take(rest, 12)?;
            Value::Other(namespace.as_bytes())
        }
        0x0f => {
            let length = usize::try_from(take_i32(rest)?).ok().and_then(|length| length.checked_sub(4));
            Value::Other(take(rest, length.ok_or(CUT)?)?)
        }
        INT32 => Value::Int32(take_i32(rest)?),
        0x11 | 0x13 => Value::Other(take(rest, if kind == 0x11 { 8 } else { 16 })?),
        INT64 => Value::Int64(i64::from_le_bytes(take_8(rest)?)),
        _ => return Err(WireError::Malformed("a document has a value of unknown kind")),
    };
    Ok((name, value))
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], WireError> {
    let (taken, after) = rest.split_at_checked(count).ok_or(CUT)?;
    *rest = after;
    Ok(taken)
}

fn take_8(rest: &mut &[u8]) -> Result<[u8; 8], WireError> {
    take(rest, 8)?.try_into().map_err(|_| CUT)
}

/// A number of four bytes, the lowest first.
pub fn take_i32(rest: &mut &[u8]) -> Result<i32, WireError> {
    Ok(i32::from_le_bytes(take(rest, 4)?.try_into().map_err(|_| CUT)?))
}

fn take_name<'a>(rest: &mut &'a [u8]) -> Result<&'a str, WireError> {
    let end = rest.iter().position(|byte| *byte == 0).ok_or(CUT)?;
    let name = take(rest, end)?;
    take(rest, 1)?;
    utf8(name)
}

fn take_text<'a>(rest: &mut &'a [u8]) -> Result<&'a str, WireError> {
    let length = usize::try_from(take_i32(rest)?).map_err(|_| CUT)?;
    match take(rest, length)? {
        [text @ .., 0] => utf8(text),
        _ => Err(CUT),
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, WireError> {
    str::from_utf8(bytes).map_err(|_| WireError::Malformed("a text is not UTF-8"))
}

/// Begins a document at the end of a buffer; [`close`] ends it.
#[inline]
pub fn open(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[0; 4]);
    out.len() - 4
}

/// Ends the document that began at `start`.
#[inline]
pub fn close(out: &mut Vec<u8>, start: usize) {
    out.push(0);
    set_length(out, start);
}

/// Writes at `start` how many bytes follow from there on.
#[inline]
pub fn set_length(out: &mut [u8], start: usize) {
    // More than 2 GiB would need more memory than a step may have.
    let length = i32::try_from(out.len() - start).unwrap_or(i32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// The length that stands at `start`; absent if there is none, or a negative one.
#[inline]
pub fn length_at(bytes: &[u8], start: usize) -> Option<usize> {
    let length = bytes.get(start..start + 4)?;
    usize::try_from(i32::from_le_bytes(length.try_into().ok()?)).ok()
}

#[inline]
fn push_name(out: &mut Vec<u8>, kind: u8, name: &str) {
    out.push(kind);
    out.extend_from_slice(name.as_bytes());
    out.push(0);
}

/// An element that is a whole number, of four bytes if that is enough, as other drivers send it.
#[inline]
pub fn push_number(out: &mut Vec<u8>, name: &str, value: i64) {
    match i32::try_from(value) {
        Ok(short) => {
            push_name(out, INT32, name);
            out.extend_from_slice(&short.to_le_bytes());
        }
        Err(_) => push_long(out, name, value),
    }
}

/// An element that is a whole number of eight bytes.
pub fn push_long(out: &mut Vec<u8>, name: &str, value: i64) {
    push_name(out, INT64, name);
    out.extend_from_slice(&value.to_le_bytes());
}

/// An element that is a moment, in milliseconds since 1970.
#[inline]
pub fn push_date(out: &mut Vec<u8>, name: &str, milliseconds: i64) {
    push_name(out, DATE, name);
    out.extend_from_slice(&milliseconds.to_le_bytes());
}

/// An element that is a number with decimals.
#[inline]
pub fn push_double(out: &mut Vec<u8>, name: &str, value: f64) {
    push_name(out, DOUBLE, name);
    out.extend_from_slice(&value.to_le_bytes());
}

/// An element that is a text, which `push` writes.
#[inline]
pub fn push_text(out: &mut Vec<u8>, name: &str, push: impl FnOnce(&mut Vec<u8>)) {
    push_name(out, TEXT, name);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    push(out);
    out.push(0);
    let length = i32::try_from(out.len() - start - 4).unwrap_or(i32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// An element that is bytes of no special kind.
pub fn push_binary(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    push_name(out, BINARY, name);
    out.extend_from_slice(&i32::try_from(value.len()).unwrap_or(i32::MAX).to_le_bytes());
    out.push(0);
    out.extend_from_slice(value);
}

/// Begins an element that is a document; [`close`] ends it.
#[inline]
pub fn open_document(out: &mut Vec<u8>, name: &str) -> usize {
    push_name(out, DOCUMENT, name);
    open(out)
}

/// Begins an element that is an array; [`close`] ends it.
#[inline]
pub fn open_array(out: &mut Vec<u8>, name: &str) -> usize {
    push_name(out, ARRAY, name);
    open(out)
}

/// An element of JSON.
pub fn push_json(out: &mut Vec<u8>, name: &str, value: &Json) {
    match value {
        Json::Null => push_name(out, NULL, name),
        Json::Bool(value) => {
            push_name(out, BOOL, name);
            out.push(u8::from(*value));
        }
        Json::Number(number) => match number.as_i64() {
            Some(whole) => push_number(out, name, whole),
            None => push_double(out, name, number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => push_text(out, name, |out| out.extend_from_slice(text.as_bytes())),
        Json::Array(values) => {
            let start = open_array(out, name);
            for (place, value) in values.iter().enumerate() {
                push_json(out, &place.to_string(), value);
            }
            close(out, start);
        }
        Json::Object(object) => {
            let start = open_document(out, name);
            object.iter().for_each(|(name, value)| push_json(out, name, value));
            close(out, start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn encoded(value: &Json) -> Vec<u8> {
        let mut out = Vec::new();
        let start = open(&mut out);
        value.as_object().unwrap().iter().for_each(|(name, value)| push_json(&mut out, name, value));
        close(&mut out, start);
        out
    }

    /// The examples of the specification.
    #[test]
    fn documents_are_those_of_the_specification() {
        assert_eq!(
            encoded(&json!({ "hello": "world" })),
            b"\x16\x00\x00\x00\x02hello\x00\x06\x00\x00\x00world\x00\x00"
        );
        assert_eq!(
            encoded(&json!({ "BSON": ["awesome", 5.05, 1986] })),
            b"\x31\x00\x00\x00\x04BSON\x00\x26\x00\x00\x00\x02\x30\x00\x08\x00\x00\x00awesome\x00\x01\x31\x00\x33\x33\x33\x33\x33\x33\x14\x40\x10\x32\x00\xc2\x07\x00\x00\x00\x00"
        );
    }

    #[test]
    fn what_was_written_is_read() {
        let bytes = encoded(&json!({
            "ok": 1.0, "n": 7, "id": 5_000_000_000_i64, "cursor": { "firstBatch": [{}, {}], "ns": "a.b" }, "x": null, "t": true
        }));
        let (document, rest) = Document::split(&bytes).unwrap();
        assert!(rest.is_empty());
        let get = |name: &str| document.get(name).unwrap();
        assert_eq!((get("ok").unwrap().whole(), get("n").unwrap().whole()), (Some(1), Some(7)));
        assert_eq!(get("id"), Some(Value::Int64(5_000_000_000)));
        let cursor = get("cursor").unwrap().document().unwrap();
        assert_eq!(cursor.get("firstBatch").unwrap().unwrap().array().unwrap().count().unwrap(), 2);
        assert_eq!(cursor.get("ns").unwrap().unwrap().text(), Some("a.b"));
        assert_eq!((get("x"), get("none")), (Some(Value::Null), None));
        assert!(get("t").unwrap().is_true() && !get("x").unwrap().is_true());
    }

    #[test]
    fn what_is_cut_is_refused_wherever_it_is() {
        let bytes = encoded(&json!({ "a": { "b": ["c", 1, 2.5, 5_000_000_000_i64] }, "d": "e", "f": false }));
        for cut in 0..bytes.len() {
            assert!(Document::split(&bytes[..cut]).is_err(), "{cut}");
            // One that lies about its length.
            let mut short = bytes[..cut].to_vec();
            if cut > 4 {
                short.push(0);
                set_length(&mut short, 0);
                let (document, _) = Document::split(&short).unwrap();
                let _ = document.elements().count();
                let _ = document.get("f");
            }
        }
        assert!(Document::split(&[0xff; 8]).is_err(), "a negative length");
        let unknown = [0x0a, 0, 0, 0, 0x42, b'a', 0, 0, 0, 0];
        let (document, _) = Document::split(&unknown).unwrap();
        assert!(document.get("a").is_err());
    }
}
