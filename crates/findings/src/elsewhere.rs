//! What is said of servers that are not ours: they are neither frozen nor measured inside, which limits what a comparison
//! with one of them can say.

use analysis::{Cap, Ceiling};
use model::block::{BASE, Side};
use model::build::BuildSource;
use model::elsewhere::ServerElsewhere;
use model::plan::{Plan, Subject};
use model::warning::Warning;

pub use model::elsewhere::NOT_OURS;

/// A server that had more statements of others than this while it was watched, which takes two seconds, is not idle:
/// more than monitoring asks. Not tuned.
const MOST_OF_IDLE: u64 = 10;

/// A side is a server that goes on while the other one is measured: at most a suspicion. Absent where both sides are
/// servers of ours; and where both are on other machines, not on one, and had no other clients: then what one does by
/// itself takes nothing from the other.
pub(crate) fn cap(plan: &Plan, candidate: Side) -> Option<Cap> {
    let sides = [BASE, candidate].map(|side| plan.subjects.get(side));
    let subjects: Vec<String> = sides
        .iter()
        .flatten()
        .filter(|subject| subject.build.elsewhere().is_some())
        .map(|subject| subject.reference.to_string())
        .collect();
    let hosts = sides.map(|side| side.and_then(idle_remote));
    let apart = matches!(hosts, [Some(base), Some(candidate)] if base != candidate);
    if subjects.is_empty() || apart {
        return None;
    }
    Some(Cap {
        ceiling: Ceiling::Suspect,
        warning: Warning::NotFrozen { subjects, design: plan.layout.design },
    })
}

/// The machine of a server that is on another one and had no other clients.
fn idle_remote(subject: &Subject) -> Option<&str> {
    match &subject.build.source {
        BuildSource::Elsewhere { server, statements_of_others: Some(statements) }
            if *statements <= MOST_OF_IDLE =>
        {
            ServerElsewhere::remote_host(server)
        }
        BuildSource::Elsewhere { .. }
        | BuildSource::Published { .. }
        | BuildSource::Own { .. }
        | BuildSource::Installed { .. } => None,
    }
}
