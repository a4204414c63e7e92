//! Default drift told from code drift: the same releases with their defaults pinned and with their own.

use super::series::{Campaign, ReleaseSeries, Searched, search};
use crate::comparison::{ChangedDefault, Drift};
use crate::differs::configured_name;
use analysis::change_points::Change;
use analysis::drift::{self, Cause};
use formats::options_file::{self, OptionsPair};
use model::block::Side;
use model::plan::Plan;
use model::subject::DEFAULT_CONFIG;

/// The configuration in which a release has its own defaults.
const OWN_DEFAULTS: &str = "defaults";

/// What the pinned configuration says of the changes of one series with the releases' own defaults.
pub(super) struct Pinned<'a> {
    plan: &'a Plan,
    standard: ReleaseSeries,
    /// Cause and version of each change, over the releases that both configurations have.
    causes: Vec<(String, Cause)>,
}

impl<'a> Pinned<'a> {
    /// For a series with the releases' own defaults, where at least two of them were measured with the defaults
    /// pinned too.
    pub(super) fn of(
        one: &Searched<'_>,
        all: &[ReleaseSeries],
        campaign: Campaign<'a>,
    ) -> Option<Pinned<'a>> {
        let standard = all
            .iter()
            .find(|series| series.config == DEFAULT_CONFIG && series.engine == one.series.engine)
            .filter(|_| one.series.config == OWN_DEFAULTS)?;
        let (standard, defaults) = (common(standard, one.series), common(one.series, standard));
        if standard.sides.len() < 2 {
            return None;
        }
        let causes = causes(&standard, &defaults, one, campaign)?;
        Some(Pinned { plan: campaign.plan, standard, causes })
    }

    /// Where a change comes from.
    pub(super) fn drift(&self, one: &Searched<'_>, change: &Change, before: usize) -> Option<Drift> {
        let version = &one.series.versions[change.version];
        let (_, cause) = self.causes.iter().find(|(known, _)| known == version)?;
        let defaults = match cause {
            Cause::Default => {
                self.changed_defaults(one.series.sides[before], one.series.sides[change.version])
            }
            Cause::Code | Cause::Undecided => Vec::new(),
        };
        Some(Drift { cause: *cause, defaults })
    }

    /// Defaults that differ between two releases and are not set by the workload. One that the pinned configuration
    /// pins can be why the change is not there; another cannot.
    fn changed_defaults(&self, before: Side, after: Side) -> Vec<ChangedDefault> {
        let subjects = &self.plan.subjects;
        let defaults = |side: Side| {
            let probe = subjects.get(side)?.build.probe.as_ref()?;
            options_file::parse(&probe.default_options).ok()
        };
        let (Some(base), Some(candidate)) = (defaults(before), defaults(after)) else { return Vec::new() };
        let changed: Vec<ChangedDefault> =
            options_file::differences(OptionsPair { base: &base, candidate: &candidate })
                .into_iter()
                .filter_map(|one| {
                    let option = configured_name(&one);
                    Some(ChangedDefault { option, before: one.base?, after: one.candidate? })
                })
                .filter(|one| !subjects[after].options.contains_key(&one.option))
                .collect();
        let pins = self.standard.sides.first().map(|side| &subjects[*side].config.pins);
        let pinned: Vec<ChangedDefault> = changed
            .iter()
            .filter(|one| pins.is_some_and(|pins| pins.contains_key(&one.option)))
            .cloned()
            .collect();
        if pinned.is_empty() { changed } else { pinned }
    }
}

/// The releases of a series that another one has too.
fn common(series: &ReleaseSeries, other: &ReleaseSeries) -> ReleaseSeries {
    let kept =
        series.versions.iter().zip(&series.sides).filter(|(version, _)| other.versions.contains(version));
    let (versions, sides) = kept.map(|(version, side)| (version.clone(), *side)).unzip();
    ReleaseSeries { engine: series.engine.clone(), config: series.config.clone(), sides, versions }
}

fn causes(
    standard: &ReleaseSeries,
    defaults: &ReleaseSeries,
    one: &Searched<'_>,
    campaign: Campaign<'_>,
) -> Option<Vec<(String, Cause)>> {
    let pinned = search(standard, one.step, one.metric, campaign)?;
    let own = search(defaults, one.step, one.metric, campaign)?;
    let found = drift::drift(
        drift::Searched { series: &pinned.points, findings: &pinned.findings },
        drift::Searched { series: &own.points, findings: &own.findings },
    )
    .ok()?;
    let version = |change: usize| defaults.versions.get(own.findings.changes.get(change)?.version).cloned();
    Some(found.iter().filter_map(|one| Some((version(one.change)?, one.cause))).collect())
}
