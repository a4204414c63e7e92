//! Several runs in one report: their documents as one. Whether they may stand beside each other is said by
//! [`findings::conditions`].

use crate::document::{Block, Document, Section};

/// Documents, at least one, one after another as one, each section with the run that it is of.
pub fn document(mut documents: Vec<Document>) -> Document {
    let kind = documents.first().map_or("nothing", |first| first.kind);
    if documents.len() == 1
        && let Some(only) = documents.pop()
    {
        return only;
    }
    let has_runs = documents.iter().any(|document| !document.runs.is_empty());
    let over_all =
        documents.first().filter(|first| first.runs.is_empty() && has_runs).map(|first| first.title.clone());
    let intro = match (&over_all, has_runs) {
        (Some(_), _) => "Then each run by itself, one after another.",
        (None, true) => {
            "Several runs, one after another. Each is compared with its own base; between runs nothing is."
        }
        (None, false) => "One workload and design after another; between them nothing is compared.",
    };
    let mut joined = Document { kind, intro: vec![intro.to_owned()], ..Document::default() };
    for (document, number) in documents.into_iter().zip(1..) {
        add(&mut joined, document, number);
    }
    if let Some(title) = over_all {
        joined.title = title;
    } else if has_runs {
        joined.title = format!("{} runs: {}", joined.runs.len(), joined.title);
    }
    joined
}

fn add(joined: &mut Document, document: Document, number: usize) {
    let run = document.runs.join(", ");
    let of_run = |text: String| if run.is_empty() { text } else { format!("{run}: {text}") };
    if !joined.title.is_empty() {
        joined.title.push_str("; ");
    }
    joined.title.push_str(&document.title);
    joined.found.extend(document.found.into_iter().map(|mut sentence| {
        sentence.text = of_run(sentence.text);
        sentence
    }));
    joined.warnings.extend(document.warnings.into_iter().map(|mut notice| {
        notice.text = of_run(notice.text);
        notice
    }));
    let intro = document.intro.into_iter().map(Block::Paragraph);
    let commands = document.command.into_iter().map(Block::Verbatim);
    let title = match run.as_str() {
        "" => document.title.clone(),
        run => format!("Run {run}: {}", document.title),
    };
    let heading = Section::new(format!("run-{number}"), title, intro.chain(commands).collect());
    joined.sections.push(heading);
    joined.sections.extend(document.sections.into_iter().map(|section| Section {
        id: within(number, &section.id),
        title: if run.is_empty() { section.title } else { format!("{} (run {run})", section.title) },
        blocks: section.blocks.into_iter().map(|block| of_document(block, number)).collect(),
        ..section
    }));
    joined.footer.extend(document.footer.into_iter().map(of_run));
    joined.runs.extend(document.runs);
}

/// What has to be unique within a document, and what points at it, get the number of the run.
fn of_document(block: Block, number: usize) -> Block {
    match block {
        Block::Matrix(mut matrix) => {
            for row in &mut matrix.rows {
                row.section = row.section.as_ref().map(|section| within(number, section));
            }
            Block::Matrix(matrix)
        }
        Block::Figure(mut figure) => {
            figure.name = within(number, &figure.name);
            Block::Figure(figure)
        }
        Block::Timeline(mut timeline) => {
            timeline.id = within(number, &timeline.id);
            Block::Timeline(timeline)
        }
        Block::Paragraph(_) | Block::Items(_) | Block::Table(_) | Block::Verbatim(_) => block,
    }
}

fn within(number: usize, id: &str) -> String {
    format!("run-{number}-{id}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Matrix, MatrixRow, Sentence};

    fn one(run: &str) -> Document {
        let row = MatrixRow {
            step: "readrandom".to_owned(),
            section: Some("step-readrandom".to_owned()),
            group: "point".to_owned(),
            base_value: "1".to_owned(),
            ..MatrixRow::default()
        };
        let matrix = Matrix { base: "a".to_owned(), rows: vec![row], ..Matrix::default() };
        Document {
            title: "a against b".to_owned(),
            kind: "comparison",
            runs: vec![run.to_owned()],
            found: vec![Sentence { verdict: None, text: "equal".to_owned() }],
            sections: ["overview", "step-readrandom"]
                .map(|id| Section::new(id, id, vec![Block::Matrix(matrix.clone())]))
                .to_vec(),
            command: Some("dbdyno compare a b".to_owned()),
            ..Document::default()
        }
    }

    #[test]
    fn documents_stand_one_after_another_and_links_stay_within_their_run() {
        let joined = document(vec![one("r1"), one("r2")]);
        let ids: Vec<&str> = joined.sections.iter().map(|section| section.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "run-1",
                "run-1-overview",
                "run-1-step-readrandom",
                "run-2",
                "run-2-overview",
                "run-2-step-readrandom"
            ]
        );
        let linked =
            joined.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
                Block::Matrix(matrix) => matrix.rows[0].section.as_deref(),
                _ => None,
            });
        assert!(linked.into_iter().all(|id| ids.contains(&id)));
        let texts: Vec<&str> = joined.found.iter().map(|sentence| sentence.text.as_str()).collect();
        assert_eq!(texts, ["r1: equal", "r2: equal"]);
        assert_eq!(joined.runs, ["r1", "r2"]);
        let over_hosts = || Document { runs: Vec::new(), ..one("r1") };
        let of_two_workloads = document(vec![over_hosts(), over_hosts()]);
        assert_eq!(of_two_workloads.title, "a against b; a against b");
        assert_eq!(of_two_workloads.sections.len(), 6);
        assert_eq!(document(vec![one("r1")]), one("r1"));
    }
}
