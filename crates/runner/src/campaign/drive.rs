//! The loop that joins a schedule, a world and a listener.

use super::action::Action;
use super::world::{Failure, Performed, Severity, World};
use model::event::{RunEvent, RunOutcome};
use model::units::Nanos;

/// To suspend a host and to wake it takes seconds; what is shorter is the time between two looks at its clocks.
const MOST_SUSPENDED: Nanos = Nanos::from_millis(100);

/// What is done next, decided from what happened; no clock, process or file of its own.
pub trait Schedule {
    /// Takes in what happened by `now`, and says what to do. The events are to be told in this order.
    fn next(&mut self, event: Event, now: Nanos, epoch_us: i64) -> (Next, Vec<RunEvent>);
}

/// What happened since the last call.
#[derive(Debug)]
pub enum Event {
    Begin,
    /// The last action ended.
    Ended(Result<Performed, Failure>),
}

/// What to do next.
#[derive(Debug, PartialEq)]
pub enum Next {
    Do(Action),
    /// Nothing: the run is over.
    End(RunOutcome),
}

/// Runs a schedule to its end. The processes are gone and the directories removed when it returns.
pub fn drive(
    mut schedule: impl Schedule,
    world: &mut impl World,
    sink: &mut dyn FnMut(RunEvent),
) -> RunOutcome {
    let mut event = Event::Begin;
    let outcome = loop {
        let (next, told) = schedule.next(event, world.now(), world.epoch_us());
        for event in world.observed().into_iter().chain(told) {
            sink(event);
        }
        match next {
            Next::Do(action) => event = Event::Ended(perform(world, &action, sink)),
            Next::End(outcome) => break outcome,
        }
    };
    world.clean_up(sink);
    for event in world.observed() {
        sink(event);
    }
    sink(RunEvent::Ended { at_us: world.epoch_us(), outcome, cost: world.cost() });
    outcome
}

/// A measurement during which the host was suspended has failed, whatever came of it: caches, connections and the CPU are not
/// afterwards what they were before.
fn perform(
    world: &mut impl World,
    action: &Action,
    sink: &mut dyn FnMut(RunEvent),
) -> Result<Performed, Failure> {
    let before = world.suspended();
    let performed = world.perform(action, sink)?;
    let suspended = world.suspended().saturating_sub(before);
    if action.is_measurement() && suspended > MOST_SUSPENDED {
        let reason = format!("the host was suspended for {:.1} s while this ran", suspended.as_secs_f64());
        return Err(Failure::new(None, reason, Severity::Launch));
    }
    Ok(performed)
}
