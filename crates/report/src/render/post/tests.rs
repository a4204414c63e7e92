//! Posts of documents made by hand.

use super::*;
use crate::document::{Block, Notice};

fn paragraph(text: &str) -> Vec<Block> {
    vec![Block::Paragraph(text.to_owned())]
}

fn document(sections: Vec<Section>) -> Document {
    Document {
        title: "sysbench: b against a".to_owned(),
        kind: "comparison",
        runs: vec!["r1".to_owned()],
        found: (0..10).map(|number| Sentence { verdict: None, text: format!("found {number}") }).collect(),
        intro: vec!["What it tells.".to_owned()],
        warnings: vec![Notice::of_all("busy-host", "load 3")],
        sections,
        command: Some("dbdyno compare a b".to_owned()),
        footer: vec!["Host h.".to_owned()],
    }
}

#[test]
fn the_parts_stand_in_the_order_of_the_posts_whatever_the_order_of_the_sections() {
    let sections = vec![
        Section::new("differs", "b", paragraph("an option")).in_post(PostPart::Differs),
        Section::new("overview", "Overview", paragraph("a table")).in_post(PostPart::Results),
        Section::new("raw", "Raw output", paragraph("a list")),
        Section::new("builds", "Builds", paragraph("a build")).at(Level::Folded).in_post(PostPart::Builds),
    ];
    let chart = Illustration { file: "a b(c).svg".to_owned(), caption: "Rates [1].".to_owned() };
    insta::assert_snapshot!(render(&document(sections), &[chart]), @r"
    # sysbench: b against a

    ## tl;dr

    - found 0
    - found 1
    - found 2
    - found 3
    - found 4
    - found 5
    - found 6
    - found 7
    - and 2 more, below

    ## Builds

    a build

    ## Benchmark

    What it tells.

    Measured by:

    ```
    dbdyno compare a b
    ```

    ## Results

    ### Overview

    a table

    ![Rates \[1\].](a%20b%28c%29.svg)

    Rates \[1].

    ## What differs besides the code

    ### b

    an option

    ## What to know

    - **warning** busy-host: load 3
    ");
}

#[test]
fn a_document_without_parts_shows_as_results_what_it_shows_everywhere() {
    let sections = vec![
        Section::new("series", "Series", paragraph("lines")),
        Section::new("left-out", "Left out", paragraph("nobody reads")).at(Level::Folded),
    ];
    let post = render(&document(sections), &[]);
    assert!(post.contains("## Results\n\n### Series\n\nlines"), "{post}");
    assert!(!post.contains("nobody reads"), "{post}");
}
