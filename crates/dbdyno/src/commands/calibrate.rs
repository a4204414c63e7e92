//! `dbdyno calibrate BUILD`: the build against itself, again and again: is the harness honest here, and how
//! small a change can it see?

use crate::cli::{Calibrate, Places};
use crate::commands::compare::open_store;
use crate::commands::measure::{self, Ready};
use crate::commands::print;
use crate::commands::report::render_calibration;
use crate::exit::Ending;
use crate::interrupt;
use crate::planning::{self, Request};
use crate::progress::Progress;
use model::event::RunOutcome;
use model::plan::{Plan, Purpose};
use model::record::RunRecord;
use runner::clock::Stopwatch;

/// Plans once, measures as often as the verdicts asked for need, judges, prints.
pub fn run(places: &Places, arguments: &Calibrate) -> anyhow::Result<Ending> {
    interrupt::listen()?;
    let mut progress = Progress::new();
    let request = Request {
        purpose: Purpose::Calibrate,
        subjects: vec![arguments.build.clone(), arguments.build.clone()],
        measuring: &arguments.measuring,
        budget: arguments.budget,
        planted_slowdown_percent: 0.0,
    };
    let mut writer = open_store(places)?;
    let (plan, written_options) = planning::plan(places, &request, &mut |text| progress.say(text))?;
    let steps = u32::try_from(plan.steps.len()).unwrap_or(u32::MAX);
    let mut records: Vec<RunRecord> = Vec::new();
    let mut ending = Ending::Done;
    for repetition in 0..arguments.verdicts.div_ceil(steps) {
        // Each comparison has a seed of its own; the first one's and the number of verdicts give all.
        let plan = Plan { seed: plan.seed.wrapping_add(u64::from(repetition)), ..plan.clone() };
        let ready = Ready { plan, written_options: written_options.clone(), watch: Stopwatch::start() };
        let measured = measure::measure(places, &ready, None, &mut writer, &mut progress)?;
        records.push(writer.store().load_run(&measured.run)?);
        ending = match measured.outcome {
            RunOutcome::Done => ending,
            RunOutcome::Interrupted => Ending::Interrupted,
            RunOutcome::Failed => Ending::RunFailed,
        };
        if ending != Ending::Done {
            break;
        }
    }
    let rendered = render_calibration(&records, &print::manner(&arguments.output))?;
    print::report(&arguments.output, &rendered)?;
    Ok(ending)
}
