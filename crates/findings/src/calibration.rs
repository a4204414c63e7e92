//! The view of a calibration: A/A runs that say whether the harness is honest, how much it scatters, and how
//! small a change it can see here.

use crate::judge::{self, Case, Evidence, judge_run};
use crate::self_test::{self, StepSelfTest};
use analysis::calibration::{Noise, calibrate, visible_change};
use analysis::self_test::SelfTestResult;
use analysis::{Estimate, LaunchSummary};
use model::block::BASE;
use model::metric::Metric;
use model::plan::DecisionRule;
use model::record::RunRecord;
use model::self_test::SelfTestRecord;
use model::verdict::Verdict;

/// What the A/A runs of one subject and one workload say.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationView {
    /// Ids of the runs, in the order given.
    pub runs: Vec<String>,
    /// What part of them is shown; absent if that is everything.
    pub part: Option<String>,
    /// The subject that was compared with itself.
    pub subject: String,
    pub workload: String,
    /// Name of the host.
    pub host: String,
    /// Whether the sides are treated alike.
    pub honesty: Honesty,
    /// The steps, in the order of the workload.
    pub rows: Vec<CalibrationRow>,
    /// Share of false verdicts that is allowed per step.
    pub alpha: f64,
    /// Steps that were judged, once in each run: each could have been a false verdict.
    pub verdicts: u32,
    /// All of them, run by run.
    pub judged: Vec<Judged>,
    /// Regressions and improvements among them, which are all false: `readrandom in RUN: regression`.
    pub false_verdicts: Vec<String>,
    /// The launches that the smallest visible change is stated for.
    pub visible_launches: u32,
    /// Wall time that so many launches take here, in seconds; absent where none ended.
    pub visible_seconds: Option<f64>,
}

/// One step of one run, judged as a comparison would be.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub run: String,
    pub seed: u64,
    pub step: String,
    pub verdict: Verdict,
    /// The rate that carries it.
    pub estimate: Estimate,
}

/// Whether the harness treats the sides alike, as far as all calibrations that count tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Honesty {
    /// Every step could have failed, and none did.
    Honest,
    /// Steps in which two equal sides differ.
    Biased { steps: Vec<String> },
    /// Too few launches for some step to fail, whatever they say.
    TooFew {
        /// Launches of the step with the fewest.
        launches: u32,
        /// Launches that it takes.
        needed: u32,
    },
}

/// What the launches of one step say.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationRow {
    pub step: String,
    pub launches: u32,
    /// Wall rate, adjusted rate, CPU per operation.
    pub metrics: Vec<MetricNoise>,
    /// Whether the sides are treated alike in it.
    pub self_test: StepSelfTest,
}

/// The noise of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricNoise {
    pub metric: Metric,
    /// Ratio of the sides over the last 20 launches: 1 where they are treated alike.
    pub ratio: Option<f64>,
    /// p of the signed-rank test of these launches; it belongs to the ratio, and is not corrected for the number of steps.
    pub p_value: f64,
    /// Standard deviation of ln(ratio) over launches; absent below two.
    pub launch_sd: Option<f64>,
    /// Standard deviation of ln(ratio) between data images; absent unless images had several launches each.
    pub image_sd: Option<f64>,
    /// Smallest change visible in [`CalibrationView::visible_launches`] launches (0.02 is 2 %).
    pub visible_change: Option<f64>,
}

/// Image numbers of different runs are told apart by this much: equal ones are not equal bytes.
const IMAGES_OF_A_RUN: u32 = 100_000;

/// The view of these A/A runs, oldest first; absent where there is none. The first one names subject and
/// workload; what others have beyond its steps is left out. `known` are the self-tests that count for the newest.
pub fn build(records: &[RunRecord], known: &[SelfTestRecord]) -> Option<CalibrationView> {
    let first = records.first()?;
    let rule = judge::rule(first);
    let self_tests = self_test::shown(records, known);
    let rows: Vec<CalibrationRow> = first
        .plan
        .chosen_steps()
        .filter_map(|step| {
            let self_test = *self_tests.get(&step.name)?;
            Some(row(&step.name, &launches_of(records, &step.name), &rule, self_test))
        })
        .collect();
    let judged = judged(records);
    let verdicts = judged.iter().filter(|judged| judged.is_verdict()).count();
    let wrong = |judged: &&Judged| judged.is_false();
    let false_verdicts = judged
        .iter()
        .filter(wrong)
        .map(|judged| format!("{} in {}: {}", judged.step, judged.run, judged.verdict))
        .collect();
    Some(CalibrationView {
        part: None,
        runs: records.iter().map(|record| record.id.clone()).collect(),
        subject: first.plan.subjects[BASE].reference.to_string(),
        workload: first.plan.workload.name.clone(),
        host: first.host.name.clone(),
        honesty: honesty(&rows),
        rows,
        alpha: rule.alpha,
        verdicts: u32::try_from(verdicts).unwrap_or(u32::MAX),
        judged,
        false_verdicts,
        visible_launches: rule.max_launches,
        visible_seconds: mean_launch_seconds(records).map(|mean| mean * f64::from(rule.max_launches)),
    })
}

/// All launches of a step, of all runs and sides, numbered through.
fn launches_of(records: &[RunRecord], step: &str) -> Vec<LaunchSummary> {
    let mut all: Vec<LaunchSummary> = Vec::new();
    for (run, record) in (0..).zip(records) {
        let Ok(step) = record.plan.workload.step(step) else { continue };
        for candidate in record.plan.candidate_sides() {
            for mut launch in Case::of(record, step, candidate).summaries() {
                launch.launch = u32::try_from(all.len() + 1).unwrap_or(u32::MAX);
                launch.image += run * IMAGES_OF_A_RUN;
                all.push(launch);
            }
        }
    }
    all
}

fn row(
    step: &str,
    launches: &[LaunchSummary],
    rule: &DecisionRule,
    self_test: StepSelfTest,
) -> CalibrationRow {
    let calibrated = calibrate(launches);
    CalibrationRow {
        step: step.to_owned(),
        launches: calibrated.launches,
        metrics: calibrated.noise.iter().map(|noise| metric_noise(noise, rule)).collect(),
        self_test,
    }
}

fn metric_noise(noise: &Noise, rule: &DecisionRule) -> MetricNoise {
    MetricNoise {
        metric: noise.metric,
        ratio: noise.ratio,
        p_value: noise.p,
        launch_sd: noise.launch_sd,
        image_sd: noise.images.map(|images| images.image_sd),
        visible_change: noise.launch_sd.and_then(|sd| visible_change(rule.alpha, sd, rule.max_launches)),
    }
}

fn honesty(rows: &[CalibrationRow]) -> Honesty {
    let of =
        |result: SelfTestResult| rows.iter().filter(move |row| row.self_test.accumulated.result() == result);
    let failed: Vec<String> = of(SelfTestResult::Failed).map(|row| row.step.clone()).collect();
    if !failed.is_empty() {
        return Honesty::Biased { steps: failed };
    }
    let too_few = of(SelfTestResult::NotEnough).map(|row| row.self_test.accumulated);
    match too_few.min_by_key(|accumulated| accumulated.launches) {
        Some(fewest) => Honesty::TooFew { launches: fewest.launches, needed: fewest.needed },
        None => Honesty::Honest,
    }
}

/// Every step of every run, judged as a comparison would be.
fn judged(records: &[RunRecord]) -> Vec<Judged> {
    let mut all = Vec::new();
    for record in records {
        for (step, _, judged) in judge_run(record, &Evidence::default()) {
            all.push(Judged {
                run: record.id.clone(),
                seed: record.plan.seed,
                step: step.name.clone(),
                verdict: judged.judgement.verdict,
                estimate: judged.judgement.deciding().clone(),
            });
        }
    }
    all
}

impl Judged {
    /// Whether a difference was found, which here is an error.
    pub fn is_false(&self) -> bool {
        matches!(self.verdict, Verdict::Regression | Verdict::Improvement)
    }

    /// Whether a difference could have been found.
    fn is_verdict(&self) -> bool {
        self.is_false() || matches!(self.verdict, Verdict::NoChange | Verdict::Inconclusive)
    }
}

/// Wall time of a launch of these runs, in seconds; absent where none ended.
pub(crate) fn mean_launch_seconds(records: &[RunRecord]) -> Option<f64> {
    let launches = records.iter().flat_map(|record| &record.launches);
    let took: Vec<f64> = launches.filter_map(|launch| Some(launch.took?.as_secs_f64())).collect();
    (!took.is_empty()).then(|| took.iter().sum::<f64>() / took.len() as f64)
}
