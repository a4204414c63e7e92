//! Runs that a seed draws: of several hosts and builds, with rows in every table that a run has; cut off, resumed, profiled, of a campaign.

use super::super::profiles::profile;
use super::super::{BUSY, block, by, ended, host, plan, shape, signal_11, subject, trial};
use crate::{QueuedRun, Retry, Writer};
use model::block::{Block, BlockKind, Latency, Outcome, Second};
use model::counter::{Counter, Counters};
use model::event::{Moment, RunEvent};
use model::fingerprint::{Fingerprint, HostFigure};
use model::host::{Host, HostSample};
use model::plan::{Plan, Purpose};
use model::reason::{LeaveReason, Reason};
use model::self_test::{Gains, SelfTestRecord};
use model::units::Nanos;
use std::collections::BTreeMap;

/// A seeded generator of random numbers: SplitMix64 (Steele, Lea, Flood 2014).
pub struct Draw(u64);

impl Draw {
    pub fn of(seed: u64) -> Draw {
        Draw(seed)
    }

    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.number() % bound as u64).unwrap()
    }

    fn is_one_in(&mut self, some: usize) -> bool {
        self.below(some) == 0
    }

    fn microseconds(&mut self) -> i64 {
        1_780_000_000_000_000 + i64::try_from(self.below(1 << 30)).unwrap()
    }
}

/// A run in the parts that it may be cut at.
pub struct DrawnRun {
    opening: Vec<RunEvent>,
    launches: Vec<Vec<RunEvent>>,
    closing: Vec<RunEvent>,
}

impl DrawnRun {
    pub fn of(id: &str, draw: &mut Draw) -> DrawnRun {
        let launches = 1 + u32::try_from(draw.below(2)).unwrap();
        DrawnRun {
            opening: opening(id, draw),
            launches: (1..=launches).map(|number| launch(number, draw)).collect(),
            closing: vec![
                RunEvent::MaxLaunchesFixed { max_launches: launches },
                RunEvent::StepLeft {
                    step: "fillseq".to_owned(),
                    launch: launches,
                    reason: LeaveReason::Decided,
                },
                ended(draw.microseconds()),
            ],
        }
    }

    pub fn events(&self) -> Vec<RunEvent> {
        [self.opening.clone(), self.launches.concat(), self.closing.clone()].concat()
    }
}

/// How many events have a state of a run that is further than any shorter one: one more trial or launch has ended, or the run.
pub fn states(events: &[RunEvent]) -> Vec<usize> {
    let is_further = |event: &RunEvent| {
        matches!(event, RunEvent::TrialEnded { .. } | RunEvent::LaunchEnded { .. } | RunEvent::Ended { .. })
    };
    events.iter().zip(1..).filter(|(event, _)| is_further(event)).map(|(_, length)| length).collect()
}

pub fn write(writer: &mut Writer, run: &str, events: &[RunEvent]) {
    for event in events {
        writer.write(run, event).unwrap();
    }
}

/// A run to its end, and what may come to it afterwards.
pub fn write_whole(writer: &mut Writer, run: &str, draw: &mut Draw) {
    let drawn = DrawnRun::of(run, draw);
    if draw.is_one_in(2) {
        let cut_off = drawn.launches.last().unwrap();
        let before = &drawn.launches[..drawn.launches.len() - 1];
        write(writer, run, &drawn.opening);
        write(writer, run, &before.concat());
        write(writer, run, &cut_off[..cut_off.len() / 2]);
        writer.resume(run, Retry::CutOff, &by()).unwrap();
        write(writer, run, cut_off);
        write(writer, run, &drawn.closing);
    } else {
        write(writer, run, &drawn.events());
    }
    if draw.is_one_in(2) {
        writer.keep_self_tests(run, &[self_test(run, draw)]).unwrap();
    }
    if draw.is_one_in(2) {
        let profile = profile(90, draw.below(2));
        writer.write(run, &RunEvent::Profiled(Box::new(profile))).unwrap();
    }
    if draw.is_one_in(2) {
        writer.set_found(run, r#"[{"text":"nothing"}]"#).unwrap();
    }
    if draw.is_one_in(2) {
        let name = format!("of a campaign {}", draw.below(100));
        let queued = QueuedRun { name, plan: plan(Purpose::Campaign), written_options: Vec::new() };
        writer.queue("campaign", &[queued]).unwrap();
        writer.begin_queued("campaign", run).unwrap();
    }
}

fn opening(id: &str, draw: &mut Draw) -> Vec<RunEvent> {
    const RELEASES: [&str; 3] = ["8.5.4", "8.7.3", "9.3.1"];
    let subjects = vec![subject(RELEASES[draw.below(3)]), subject(RELEASES[draw.below(3)])];
    let plan = Plan { subjects, seed: draw.number(), ..plan(Purpose::Compare) };
    let host = Host {
        name: format!("bench-{}", draw.below(3)),
        boot_id: format!("boot-{}", draw.below(3)),
        ..host()
    };
    let measured = Fingerprint {
        at_us: draw.microseconds(),
        host: host.name.clone(),
        boot_id: host.boot_id.clone(),
        device: draw.is_one_in(2).then(|| "vda".to_owned()),
        figures: vec![HostFigure {
            name: "fsync_us".to_owned(),
            value: draw.below(1000) as f64 / 7.0,
            spread: 0.01,
        }],
    };
    let mut events = vec![RunEvent::Started {
        run: id.to_owned(),
        at_us: draw.microseconds(),
        plan: Box::new(plan),
        host: Box::new(host),
    }];
    if draw.is_one_in(2) {
        events.push(RunEvent::HostMeasured(Box::new(measured)));
    }
    events.push(RunEvent::Warned { step: None, warning: BUSY });
    events
}

fn launch(launch: u32, draw: &mut Draw) -> Vec<RunEvent> {
    let mut events = vec![
        RunEvent::LaunchStarted { launch, at_us: draw.microseconds() },
        RunEvent::ImageBuilt { launch, image: launch, seed: draw.number(), shape: shape(9), took: Nanos(5) },
    ];
    for step in ["fillseq", "readrandom"] {
        for side in 0..2 {
            events.extend(trial_of(launch, step, side, draw));
        }
    }
    events.push(RunEvent::LaunchEnded {
        launch,
        took: Nanos(draw.number() >> 20),
        max_launches: 14,
        active_steps: vec!["readrandom".to_owned()],
        look: draw.is_one_in(2).then_some(0.25),
    });
    events
}

fn trial_of(launch: u32, step: &str, side: usize, draw: &mut Draw) -> Vec<RunEvent> {
    let trial = trial(launch, step, side);
    let mut events = vec![RunEvent::ShapeRead {
        trial: trial.clone(),
        moment: Moment::Before,
        shape: shape(draw.number() >> 50),
    }];
    for cycle in 0..=u32::try_from(draw.below(2)).unwrap() {
        let mut counters = Counters::new();
        for counter in Counter::ALL {
            if draw.is_one_in(4) {
                counters.insert(counter, draw.number() >> 10);
            }
        }
        let of = block(trial.clone(), BlockKind::Cycle(cycle), counters);
        let measured =
            Block { operations: draw.number() >> 30, started_at_us: Some(draw.microseconds()), ..of };
        events.push(RunEvent::BlockMeasured(Box::new(measured)));
    }
    for second in 0..u32::try_from(draw.below(3)).unwrap() {
        let operations = draw.number() >> 30;
        let second = Second { second, operations, p50: Nanos(5), p99: Nanos(50), max: Nanos(500) };
        events.push(RunEvent::SecondMeasured { trial: trial.clone(), second });
    }
    let name = ["stat.ctxt", "disk.vda.reads"][draw.below(2)];
    events.push(RunEvent::HostSampled(HostSample {
        at_us: draw.microseconds(),
        readings: BTreeMap::from([(name.to_owned(), draw.number() >> 30)]),
    }));
    let text = draw.number().to_string();
    events.push(RunEvent::RawOutput { launch, side, name: "LOG".to_owned(), text });
    let (outcome, latency) = match draw.below(4) {
        0 => (Outcome::Failed { reason: signal_11() }, None),
        1 => (Outcome::Skipped { reason: Reason::BudgetUsedUp }, None),
        _ => (Outcome::Done, Some(latency(draw))),
    };
    events.push(RunEvent::TrialEnded { trial, outcome, latency });
    events
}

fn latency(draw: &mut Draw) -> Latency {
    Latency {
        count: draw.number() >> 30,
        p50: Nanos(1),
        p99: Nanos(2),
        p999: Nanos(3),
        p9999: draw.is_one_in(2).then_some(Nanos(3)),
        max: Nanos(4),
        histogram: format!("{:x}", draw.number()),
    }
}

fn self_test(run: &str, draw: &mut Draw) -> SelfTestRecord {
    SelfTestRecord {
        run: run.to_owned(),
        started_at_us: 0,
        boot_id: String::new(),
        workload: String::new(),
        workload_sha256: String::new(),
        step: "readrandom".to_owned(),
        family: 2,
        gains: Gains { launches: 14, wall: vec![draw.below(100) as f64 / 3.0], adjusted: vec![-7.0] },
    }
}
