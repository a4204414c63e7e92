//! Runs of a campaign that wait for their turn.

use super::{RUN, started};
use crate::{Error, QueuedRun, Writer};
use model::plan::{Plan, Purpose};

fn queued(name: &str, seed: u64) -> QueuedRun {
    let plan = Plan { seed, ..testing::plan(super::WORKLOAD, &[]) };
    QueuedRun { name: name.to_owned(), plan, written_options: vec![None, Some("a=1".to_owned())] }
}

#[test]
fn runs_leave_the_queue_in_their_order_when_they_begin() {
    let mut writer = Writer::in_memory().unwrap();
    let runs = [queued("posts/small", 1), queued("posts/large", 2)];
    writer.queue("c1", &runs).unwrap();
    assert_eq!(writer.store().next_queued("c1").unwrap(), Some(runs[0].clone()));

    assert!(matches!(writer.begin_queued("c1", RUN), Err(Error::RunNotBegun { .. })));
    assert_eq!(writer.store().queued("c1").unwrap(), 2);
    writer.write(RUN, &started(RUN, 1, Purpose::Campaign)).unwrap();
    assert_eq!(writer.store().campaign_of(RUN).unwrap(), None);
    writer.begin_queued("c1", RUN).unwrap();
    assert_eq!(writer.store().campaign_of(RUN).unwrap().as_deref(), Some("c1"));
    assert_eq!(writer.store().find_run("posts/small").unwrap(), RUN);
    assert_eq!(writer.store().runs_of_campaign("c1").unwrap(), [RUN]);
    assert!(writer.store().runs_of_campaign("c2").unwrap().is_empty());
    assert_eq!(writer.store().next_queued("c1").unwrap(), Some(runs[1].clone()));
    // One of which no run began goes when the next is queued.
    writer.queue("never begun", &[queued("other", 3)]).unwrap();
    writer.queue("c2", &[queued("other", 3)]).unwrap();
    let queued = ["c1", "never begun", "c2"].map(|campaign| writer.store().queued(campaign).unwrap());
    assert_eq!(queued, [1, 0, 1]);
    assert_eq!(writer.store().next_queued("none").unwrap(), None);
}
