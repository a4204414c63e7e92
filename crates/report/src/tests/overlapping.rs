//! Where the time of an operation goes, of blocks whose parts add up and of such as do not: in no format is there a sum that
//! is none.

use super::{of, parsed};
use findings::Comparison;
use findings::judge::Evidence;
use model::units::Nanos;
use model::warning::Warning;
use testing::compared::{EQUAL, record};

/// Blocks of 100 ms with 99 ms of CPU, and in one step with so much run delay.
fn with_run_delay(millis: u64) -> Comparison {
    let mut record = record(&EQUAL);
    for block in record.blocks.iter_mut().filter(|block| block.trial.step == "readrandom") {
        block.run_delay = Nanos::from_millis(millis);
    }
    Comparison::of(&record, &Evidence::default())
}

#[test]
fn parts_that_do_not_add_up_are_in_no_format_and_a_few_words_say_why() {
    let view = with_run_delay(30);
    let said = Warning::TimesOverlap.to_string();
    assert_eq!(said.split(':').next(), Some("where the time goes is not shown"));
    for format in ["text", "markdown", "html"] {
        let shown = of(&view, format);
        // The table is there for the other step.
        assert!(shown.contains("+ run delay"), "{format}");
        assert!(!shown.contains("-0.48"), "{format}: {shown}");
        assert!(
            shown.replace('\n', " ").contains("readrandom: where the time goes is not shown"),
            "{format}: {shown}"
        );
    }
    let json = parsed(&view);
    let steps: Vec<&str> =
        json["time_identity"].as_array().unwrap().iter().map(|one| one["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["overwrite-after-fill"]);
    let note = json["notes"].as_array().unwrap().iter().find(|note| note["id"] == "times-overlap").unwrap();
    assert_eq!((note["step"].as_str(), note["text"].as_str()), (Some("readrandom"), Some(said.as_str())));
}

#[test]
fn clocks_that_differ_a_little_do_not_hide_the_sum() {
    let view = with_run_delay(2);
    assert_eq!(parsed(&view)["time_identity"].as_array().unwrap().len(), 2);
    assert!(!of(&view, "text").contains("is not shown"));
}
