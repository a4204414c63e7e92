//! Several runs in one report: their documents as one. Whether they may stand beside each other is said by
//! [`crate::conditions`].

use crate::document::{Block, Document, Section};

/// Documents one after another as one, each section with the run that it is of. Absent where there is none.
pub fn document(documents: Vec<Document>) -> Option<Document> {
    let mut all = documents.into_iter().zip(1_usize..);
    let (first, _) = all.next()?;
    let Some((second, number)) = all.next() else { return Some(first) };
    let mut joined = Document {
        title: String::new(),
        kind: first.kind,
        runs: Vec::new(),
        verdicts: Vec::new(),
        preface: vec![
            "Several runs, one after another. Each is compared with its own base; between runs nothing is."
                .to_owned(),
        ],
        cautions: Vec::new(),
        sections: Vec::new(),
        command: None,
        colophon: Vec::new(),
    };
    for (document, number) in [(first, 1), (second, number)].into_iter().chain(all) {
        add(&mut joined, document, number);
    }
    joined.title = format!("{} runs: {}", joined.runs.len(), joined.title);
    Some(joined)
}

fn add(joined: &mut Document, document: Document, number: usize) {
    let run = document.runs.join(", ");
    let of_run = |text: String| format!("{run}: {text}");
    if !joined.title.is_empty() {
        joined.title.push_str("; ");
    }
    joined.title.push_str(&document.title);
    joined.verdicts.extend(document.verdicts.into_iter().map(|mut sentence| {
        sentence.text = of_run(sentence.text);
        sentence
    }));
    joined.preface.extend(document.preface.into_iter().map(of_run));
    joined.cautions.extend(document.cautions.into_iter().map(|mut caution| {
        caution.text = of_run(caution.text);
        caution
    }));
    let commands = document.command.into_iter().map(Block::Verbatim);
    let heading = Section {
        id: format!("run-{number}"),
        title: format!("Run {run}: {}", document.title),
        folded: false,
        blocks: commands.collect(),
    };
    joined.sections.push(heading);
    joined.sections.extend(document.sections.into_iter().map(|section| Section {
        id: within(number, &section.id),
        title: format!("{} (run {run})", section.title),
        folded: section.folded,
        blocks: section.blocks.into_iter().map(|block| of_document(block, number)).collect(),
    }));
    joined.colophon.extend(document.colophon.into_iter().map(of_run));
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
            cells: Vec::new(),
        };
        let matrix = Matrix {
            caption: String::new(),
            base: "a".to_owned(),
            candidates: Vec::new(),
            rows: vec![row],
            legend: String::new(),
        };
        Document {
            title: "a against b".to_owned(),
            kind: "comparison",
            runs: vec![run.to_owned()],
            verdicts: vec![Sentence { verdict: None, text: "equal".to_owned() }],
            preface: Vec::new(),
            cautions: Vec::new(),
            sections: ["overview", "step-readrandom"]
                .map(|id| Section {
                    id: id.to_owned(),
                    title: id.to_owned(),
                    folded: false,
                    blocks: vec![Block::Matrix(matrix.clone())],
                })
                .to_vec(),
            command: Some("dbdyno compare a b".to_owned()),
            colophon: Vec::new(),
        }
    }

    #[test]
    fn documents_stand_one_after_another_and_links_stay_within_their_run() {
        let joined = document(vec![one("r1"), one("r2")]).unwrap();
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
        let texts: Vec<&str> = joined.verdicts.iter().map(|sentence| sentence.text.as_str()).collect();
        assert_eq!(texts, ["r1: equal", "r2: equal"]);
        assert_eq!(joined.runs, ["r1", "r2"]);
        assert_eq!(document(vec![one("r1")]).unwrap(), one("r1"));
        assert_eq!(document(Vec::new()), None);
    }
}
