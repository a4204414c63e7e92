//! The time between the steps of a visit that is the harness's own: processes, counters, texts. What the engine
//! does meanwhile (opening, closing, settling) is taken out.

use crate::clock::Stopwatch;
use model::host::StepPauses;
use model::units::Nanos;

/// Pauses so far.
#[derive(Default)]
pub struct Pauses {
    since: Option<Stopwatch>,
    engine: Nanos,
    count: u32,
    sum: Nanos,
    longest: Nanos,
}

impl Pauses {
    /// A step ended.
    pub fn begin(&mut self) {
        self.since = Some(Stopwatch::start());
        self.engine = Nanos(0);
    }

    /// The engine was at work for this long.
    pub fn engine_worked(&mut self, time: Nanos) {
        self.engine += time;
    }

    /// The next step begins; nothing where none ended before it in this visit.
    pub fn end(&mut self) {
        let Some(since) = self.since.take() else { return };
        let pause = since.elapsed().saturating_sub(self.engine);
        self.count += 1;
        self.sum += pause;
        self.longest = self.longest.max(pause);
    }

    /// The visit is over: what follows is no pause.
    pub fn forget(&mut self) {
        self.since = None;
    }

    /// All pauses together; absent where there was none.
    pub fn summary(&self) -> Option<StepPauses> {
        (self.count > 0).then(|| StepPauses {
            count: self.count,
            mean: Nanos(self.sum.0 / u64::from(self.count)),
            longest: self.longest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_between_steps_that_is_not_the_engines_counts() {
        let mut pauses = Pauses::default();
        pauses.end();
        assert_eq!(pauses.summary(), None);
        pauses.begin();
        pauses.engine_worked(Nanos::from_secs(1000));
        pauses.end();
        pauses.begin();
        pauses.forget();
        pauses.end();
        let summary = pauses.summary().unwrap();
        assert_eq!((summary.count, summary.mean), (1, Nanos(0)));
    }
}
