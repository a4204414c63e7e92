//! The loop that joins a campaign, a world and a listener.

use super::machine::{Campaign, Event, Next};
use super::referee::Referee;
use super::world::World;
use model::event::{RunEvent, RunOutcome};

/// Runs a campaign to its end. The processes are gone and the directories removed when it returns.
pub fn drive<R: Referee>(
    mut campaign: Campaign<R>,
    world: &mut impl World,
    sink: &mut dyn FnMut(RunEvent),
) -> RunOutcome {
    let mut event = Event::Begin;
    let outcome = loop {
        let (next, told) = campaign.next(event, world.now(), world.epoch_us());
        for event in world.observed().into_iter().chain(told) {
            sink(event);
        }
        match next {
            Next::Do(action) => event = Event::Ended(world.perform(&action)),
            Next::End(outcome) => break outcome,
        }
    };
    world.clean_up();
    for event in world.observed() {
        sink(event);
    }
    sink(RunEvent::Ended { at_us: world.epoch_us(), outcome, cost: world.cost() });
    outcome
}
