//! The list of raw output that a run keeps.

use super::cells::{headers, name, number_headers, table};
use super::links;
use super::shell::{self, Here};
use maud::html;
use model::record::RawOutputName;

/// The page; `subjects` are those of the run by their sides.
pub fn page(id: &str, subjects: &[String], outputs: &[RawOutputName]) -> String {
    let subject = |output: &RawOutputName| subjects.get(output.side).map_or("", String::as_str);
    let launch = |output: &RawOutputName| match output.launch {
        0 => "none".to_owned(),
        launch => launch.to_string(),
    };
    let rows = html! {
        @for output in outputs {
            tr {
                th.site-names scope="row" { a href=(links::raw(id, output)) { (name(&output.name)) } }
                td.site-names { (name(subject(output))) }
                td.site-number { (launch(output)) }
            }
        }
    };
    let body = html! {
        h1 { "Raw output of run " a href=(links::report(id)) { (id) } }
        p { "What engines and workers wrote, as it came. Launch \"none\": belongs to no launch." }
        @if outputs.is_empty() {
            p { "This run keeps none." }
        } @else {
            (table(html! { (headers(&["output", "subject"])) (number_headers(&["launch"])) }, rows))
        }
    };
    shell::page(&format!("Raw output of {id}"), Here::Elsewhere, body)
}
