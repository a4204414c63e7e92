//! The statistics of all steps and candidates under joint sign flips of whole launches: what a side's noise is matters not, as long as it is
//! as likely to be above as below.
//!
//! A flip turns the contrast of every candidate with the base in every step of a launch, so whatever they share, the base's noise
//! above all, is kept. With one process of the base this is [`crate::family`] itself. With several, the variance of a contrast is
//! moderated towards what the base's processes show of the step.

use super::rows::Row;
use super::step_noise::{Squares, most_of_chance, pooled};
use crate::family::{Member, Statistic, count, cut, squares};
use crate::flips::under_flips;

/// Fewer launches than this have no statistic: it is 0 under each flip.
const LEAST_LAUNCHES: f64 = 3.0;

/// A step and a candidate.
#[derive(Debug, Clone)]
pub(super) struct SideMember {
    /// Its number, the same at each look.
    pub(super) index: usize,
    pub(super) rows: Vec<Row>,
    /// Noise of the base's processes in its step and rate.
    pub(super) base: Squares,
}

/// As members of the ordinary family.
pub(super) fn as_family(members: &[SideMember], places: usize) -> Vec<Member> {
    members
        .iter()
        .map(|member| Member { index: member.index, is_open: true, values: contrasts(&member.rows, places) })
        .collect()
}

/// The contrast of each launch at its place, 0 where there is none.
fn contrasts(rows: &[Row], places: usize) -> Vec<f64> {
    let mut values = vec![0.0; places];
    for row in rows {
        values[row.place] = row.contrast();
    }
    values
}

/// Statistics moderated towards the noise of the base; members of one step follow each other.
pub(super) fn statistics(members: &[SideMember], candidates: usize, places: usize) -> Vec<Statistic> {
    members.chunks(candidates).flat_map(|of_step| of_one_step(of_step, places)).collect()
}

fn of_one_step(members: &[SideMember], places: usize) -> Vec<Statistic> {
    let values: Vec<Vec<f64>> = members.iter().map(|member| cut(&contrasts(&member.rows, places))).collect();
    // About 0, which no flip changes: a candidate that differs scatters more by that and lends nothing.
    let sizes: Vec<Squares> = members
        .iter()
        .zip(&values)
        .map(|(member, values)| Squares {
            sum: squares(values) / factor(member),
            freedom: member.rows.len() as f64,
        })
        .collect();
    let of = |(member, values): (&SideMember, &Vec<f64>)| {
        // Of rates that are chosen by candidate a step may have both; each is pooled with those of its own base.
        let same =
            members.iter().zip(&sizes).filter(|(other, _)| other.base == member.base).map(|(_, size)| *size);
        let noise = pooled(member.base.variance(), same.chain([member.base]));
        statistic(member, values, noise)
    };
    members.iter().zip(&values).map(of).collect()
}

/// Mean variance of its contrasts in units of a side's.
fn factor(member: &SideMember) -> f64 {
    let sum: f64 = member.rows.iter().map(Row::factor).sum();
    if member.rows.is_empty() { 1.0 } else { sum / member.rows.len() as f64 }
}

fn statistic(member: &SideMember, values: &[f64], noise: Squares) -> Statistic {
    let (launches, all) = (count(values), squares(values));
    let own_freedom = (launches - 1.0).max(1.0);
    let prior = noise.sum * factor(member);
    let most = most_of_chance(own_freedom) * noise.variance() * factor(member);
    let variance = |sum: f64| {
        let about_mean = (all - sum * sum / launches).max(f64::MIN_POSITIVE);
        let own = about_mean / own_freedom;
        // What is noisier than chance makes it is judged by itself.
        if own > most { own } else { (prior + about_mean) / (noise.freedom + own_freedom) }
    };
    let squared_t = |sum: f64| {
        if launches < LEAST_LAUNCHES { 0.0 } else { sum * sum / launches / variance(sum) }
    };
    Statistic {
        index: member.index,
        is_open: true,
        squared: under_flips(values, squared_t),
        deviation: variance(values.iter().sum()).sqrt(),
    }
}
