//! Cases of comparisons that are gone on with: after a kill, and for more time when they have ended open.

use super::engines::RELEASE;
use super::expect;
use super::interleaved::ended_launches;
use super::processes;
use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use anyhow::{Context, ensure};
use std::time::{Duration, Instant};

const STEP: [&str; 2] = ["--step", "readrandom"];

pub fn cases() -> Vec<Case> {
    vec![Case::new("compare resume", resume), Case::new("compare extended", extended).shares_host()]
}

/// Killed twice, it goes on with the next launch each time, and ends with the verdict that it would have had.
fn resume(scratch: &Scratch) -> anyhow::Result<Ending> {
    let slower = ["--plant-slowdown", "400"];
    let mut controller = Call::compare(scratch, [RELEASE, RELEASE], "60s").and(STEP).and(slower).start()?;
    for least in [2, 4] {
        let began = Instant::now();
        while ended_launches(scratch).map_or(0, |launches| launches.len()) < least {
            ensure!(
                controller.is_running()?,
                "it ended before {least} launches: {}",
                controller.stderr_so_far()?
            );
            ensure!(began.elapsed() < Duration::from_secs(60), "less than {least} launches in a minute");
            std::thread::sleep(Duration::from_millis(10));
        }
        controller.kill(true)?;
        processes::all_gone(&scratch.shared.binary)?;
        let verdicts = Call::new(scratch, ["report", "last", "--json"]).succeeds()?.json()?;
        let verdicts = expect::texts(&verdicts["comparisons"], "verdict").join(" ");
        ensure!(!verdicts.contains("regression"), "before its first look it has verdicts: {verdicts}");
        controller = Call::new(scratch, ["compare", "--resume", "last", "--json"]).start()?;
    }
    let report = controller.finish(Duration::from_secs(90))?.expect_code(&[0])?.json()?;
    ensure!(report["status"] == "done", "status is {}", report["status"]);
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    let decides = rows.iter().find(|row| row["decides"] == true).context("no rate decides")?;
    ensure!(decides["verdict"] == "regression" && decides["confirmed"] == true, "{decides}");
    let launches = ended_launches(scratch)?;
    let expected: Vec<u32> = (1..).take(launches.len()).collect();
    ensure!(launches == expected, "launches {launches:?}");
    Call::new(scratch, ["compare", "--resume", "last"]).fails(&[2], &["is done"])?;
    Call::new(scratch, ["run", "--resume", "last"]).fails(&[2], &["dbdyno compare --resume"])?;
    Ok(Ending::Passed)
}

/// Only what kept alpha back is extended, once, and it goes on from the launches that it has.
fn extended(scratch: &Scratch) -> anyhow::Result<Ending> {
    // Of a margin that nothing here can be known to within: it ends open, with fewer launches than there may be.
    let open = || Call::compare(scratch, [RELEASE, RELEASE], "5s").and(STEP).and(["--margin", "0.1"]);
    let extend = || Call::new(scratch, ["compare", "--resume", "last", "--extend", "5s"]);
    open().succeeds()?;
    extend().fails(&[2], &["its alpha is spent", "--extendable"])?;
    open().and(["--extendable"]).succeeds()?.expect_stderr(&["--extend 10m"])?;
    let launches_of_last = || -> anyhow::Result<u64> {
        let report = Call::new(scratch, ["report", "last", "--json"]).succeeds()?.json()?;
        report["launches"].as_u64().context("no launches")
    };
    let before = launches_of_last()?;
    Call::new(scratch, ["compare", "--resume", "last"]).fails(&[2], &["is done", "--extend gives"])?;
    let report = extend().and(["--json"]).succeeds()?.json()?;
    ensure!(report["status"] == "done", "status is {}", report["status"]);
    let after = report["launches"].as_u64().context("no launches")?;
    ensure!(after > before, "{before} launches, {after} after the extension");
    ensure!(launches_of_last()? == after, "the report has {} launches, not {after}", launches_of_last()?);
    extend().fails(&[2], &["was extended once"])?;
    Ok(Ending::Passed)
}
