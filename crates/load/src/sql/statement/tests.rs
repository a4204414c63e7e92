//! Templates as statements.

use super::*;
use crate::keys::{Stream, generator};
use model::workload::sql::{Bound, Draw, Holds, Parameter};
use std::collections::BTreeMap;

fn parameters() -> Parameters {
    let number = |number| Bound::number(number);
    let draws = [
        ("c", Draw::Digits { groups: 2, of: 3 }),
        ("from", Draw::Constant { value: number(5) }),
        ("hot", Draw::Constant { value: number(100) }),
        ("id", Draw::Uniform { low: number(1), high: number(9) }),
        ("wide", Draw::Uniform { low: number(1), high: number(1 << 40) }),
    ];
    let all: BTreeMap<String, Parameter> = draws
        .into_iter()
        .map(|(name, draw)| (name.to_owned(), Parameter { draw, per: Holds::Statement }))
        .collect();
    Parameters::new(&all, 1000)
}

fn statement(template: &str) -> Statement {
    statement_of(template, &mut parameters())
}

fn statement_of(template: &str, parameters: &mut Parameters) -> Statement {
    let template = Template::try_from(template.to_owned()).unwrap();
    Statement::new(&template, parameters, surroundings(&row())).unwrap()
}

fn row() -> Template {
    Template::try_from("({id}, '{c}')".to_owned()).unwrap()
}

fn surroundings(row: &Template) -> Surroundings<'_> {
    Surroundings { dialect: Dialect::Mysql, storage: Some("InnoDB"), database: "bench", row: Some(row) }
}

/// Those of a server that has neither a storage engine nor a row.
const NONE: Surroundings<'static> =
    Surroundings { dialect: Dialect::Postgres, storage: None, database: "bench", row: None };

fn table() -> TableName {
    TableName { name: "sbtest3".to_owned(), number: 3 }
}

fn as_text(template: &str) -> String {
    let (mut parameters, mut out) = (parameters(), Vec::new());
    let mut random = generator(1, Stream::Foreground(0));
    let statement = statement(template);
    statement.draw(&mut parameters, &mut random);
    statement.push_text(&table(), &mut parameters, &mut random, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn placeholders_are_those_of_the_dialect() {
    let between = statement("SELECT c FROM {table} WHERE id BETWEEN {from} AND {from+99} AND k IN ({id*3})");
    assert_eq!(
        between.with_placeholders(Dialect::Postgres, &table()),
        "SELECT c FROM sbtest3 WHERE id BETWEEN $1 AND $2 AND k IN ($3, $4, $5)"
    );
    assert_eq!(
        between.with_placeholders(Dialect::Mysql, &table()),
        "SELECT c FROM sbtest3 WHERE id BETWEEN ? AND ? AND k IN (?, ?, ?)"
    );
    assert_eq!(between.types(), [ParameterType::Number; 5]);
    let mixed = statement("UPDATE {table} SET c = '{c}', w = {wide} WHERE s = 'x'").types();
    assert_eq!(mixed, [ParameterType::Text, ParameterType::Number]);
}

#[test]
fn quotes_around_a_value_are_the_values() {
    let quoted = statement("INSERT INTO {table} VALUES ('{c}', {c}, 'it''s', '{id}')");
    let placed = quoted.with_placeholders(Dialect::Mysql, &table());
    assert_eq!(placed, "INSERT INTO sbtest3 VALUES (?, ?, 'it''s', ?)");
    let text = as_text("INSERT INTO {table} VALUES ('{c}', {c})");
    let value = &text["INSERT INTO sbtest3 VALUES (".len()..text.len() - 1];
    let (first, second) = value.split_once(", ").unwrap();
    assert_eq!(first, second, "one draw holds for the statement");
    assert_eq!((first.len(), &first[..1], &first[8..]), (9, "'", "'"));
}

#[test]
fn texts_have_their_values_in_them() {
    let text =
        as_text("SELECT c FROM {table} WHERE id BETWEEN {from} AND {from+99} AND n = {from-7} -- {number}");
    assert_eq!(text, "SELECT c FROM sbtest3 WHERE id BETWEEN 5 AND 104 AND n = -2 -- 3");
    assert_eq!(as_text("IN ({hot*3})"), "IN (100, 101, 102)");
    assert_eq!(as_text("ENGINE = {storage}"), "ENGINE = InnoDB");
}

#[test]
fn what_cannot_be_said_is_refused() {
    let refused = |template: &str, storage| {
        let template = Template::try_from(template.to_owned()).unwrap();
        Statement::new(&template, &mut parameters(), storage).unwrap_err().to_string()
    };
    assert!(refused("{c+1}", NONE).contains("nothing can be added"));
    assert!(refused("{storage}", NONE).contains("storage engine"));
    assert!(refused("{d}", NONE).contains("no parameter `d`"));
}

#[test]
fn rows_are_those_of_the_load_each_with_values_of_its_own() {
    let text = as_text("INSERT INTO {table} (k, c) VALUES {row*3}");
    let rows: Vec<&str> =
        text.strip_prefix("INSERT INTO sbtest3 (k, c) VALUES ").unwrap().split("), ").collect();
    assert_eq!(rows.len(), 3, "{text}");
    for row in &rows {
        let (number, digits) = row.trim_end_matches(')').strip_prefix('(').unwrap().split_once(", ").unwrap();
        assert!((1..=9).contains(&number.parse::<u32>().unwrap()), "{text}");
        assert!(digits.starts_with('\'') && digits.ends_with('\'') && digits.len() == 9, "{text}");
    }
    assert!(rows[0] != rows[1] && rows[1] != rows[2], "{text}");
}
