//! What is said where there is nothing to show: an empty store, a name that nobody has, a store that cannot be read.

use super::shell::{self, Here};
use maud::{Markup, html};

/// A page that says what is the matter and what to do next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// In a few words.
    pub title: String,
    pub paragraphs: Vec<String>,
    /// Commands that help, one each.
    pub commands: Vec<String>,
    /// Addresses and what they are of.
    pub links: Vec<(String, String)>,
}

/// The page.
pub fn page(message: &Message) -> String {
    shell::page(&message.title, Here::Elsewhere, body(message))
}

/// A store without a run: how to begin.
pub fn beginning(store: &str) -> Message {
    Message {
        title: "No run yet".to_owned(),
        paragraphs: vec![format!(
            "The store {store} holds no run and no import. One of these makes one; then reload this page."
        )],
        commands: vec![
            "dbdyno compare rocksdb@8.5.4 rocksdb@8.7.3".to_owned(),
            "dbdyno run plans/rocksdb-releases-small.toml".to_owned(),
            "dbdyno import sysbench x.pg16/sb.o.read-only x.pg17/sb.o.read-only".to_owned(),
        ],
        links: Vec::new(),
    }
}

fn body(message: &Message) -> Markup {
    html! {
        h1 { (message.title) }
        @for paragraph in &message.paragraphs { p.site-names { (paragraph) } }
        @for command in &message.commands { pre { code { (command) } } }
        @if !message.links.is_empty() {
            ul {
                @for (address, text) in &message.links { li.site-names { a href=(address) { (text) } } }
            }
        }
    }
}
