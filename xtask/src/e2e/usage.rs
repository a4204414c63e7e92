//! Cases of wrong usage: exit status 2 at once, with the name that was meant.

use super::engines::RELEASE;
use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use anyhow::{Context, ensure};

/// A refusal comes before anything is fetched or built.
const AT_ONCE_SECONDS: u64 = 10;

/// Arguments, and what the message must say.
struct Mistake {
    case: &'static str,
    arguments: &'static [&'static str],
    says: &'static [&'static str],
}

const MISTAKES: &[Mistake] = &[
    Mistake { case: "release", arguments: &["compare", "rocksdb@8.5.5", RELEASE], says: &["8.5.5", "8.5.4"] },
    Mistake {
        case: "engine",
        arguments: &["compare", "rocksbd@8.5.4", RELEASE],
        says: &["rocksbd", "rocksdb"],
    },
    Mistake { case: "subject", arguments: &["compare", "8.5.4", RELEASE], says: &["8.5.4", "rocksdb@"] },
    Mistake {
        case: "configuration",
        arguments: &["compare", RELEASE, "rocksdb@8.5.4+standrd"],
        says: &["standrd", "standard"],
    },
    Mistake {
        case: "step",
        arguments: &["compare", RELEASE, RELEASE, "--step", "readrandm"],
        says: &["readrandm", "readrandom"],
    },
    Mistake {
        case: "control characters",
        arguments: &["compare", RELEASE, RELEASE, "--step", "read\u{1b}[2Jrandom"],
        says: &["read?[2Jrandom"],
    },
    Mistake {
        case: "workload",
        arguments: &["compare", RELEASE, RELEASE, "--workload", "quik"],
        says: &["quik", "quick"],
    },
    Mistake {
        case: "option",
        arguments: &["compare", RELEASE, RELEASE, "--bugdet", "1m"],
        says: &["--bugdet", "--budget"],
    },
    Mistake {
        case: "budget",
        arguments: &["compare", RELEASE, RELEASE, "--budget", "soon"],
        says: &["soon", "budget"],
    },
    Mistake { case: "command", arguments: &["comprae", RELEASE, RELEASE], says: &["comprae", "compare"] },
    Mistake {
        case: "bisect backwards",
        arguments: &["bisect", "--good", "rocksdb@8.7.3", "--bad", RELEASE, "--step", "readrandom"],
        says: &["rocksdb@8.7.3 is not older than rocksdb@8.5.4"],
    },
    Mistake {
        case: "bisect neighbours",
        arguments: &["bisect", "--good", RELEASE, "--bad", "rocksdb@8.6.7", "--step", "readrandom"],
        says: &["no tried release between", "dbdyno compare rocksdb@8.5.4 rocksdb@8.6.7"],
    },
    Mistake {
        case: "bisect two engines",
        arguments: &["bisect", "--good", RELEASE, "--bad", "postgres@17", "--step", "readrandom"],
        says: &["two engines"],
    },
    Mistake {
        case: "bisect unknown step",
        arguments: &["bisect", "--good", RELEASE, "--bad", "rocksdb@8.8.1", "--step", "readrandm"],
        says: &["readrandm", "readrandom"],
    },
    Mistake {
        case: "bisect unknown release",
        arguments: &["bisect", "--good", RELEASE, "--bad", "rocksdb@8.8.2", "--step", "readrandom"],
        says: &["8.8.2", "8.8.1"],
    },
    Mistake {
        case: "bisect no repository",
        arguments: &[
            "bisect",
            "--git",
            "/dev",
            "--good",
            "a",
            "--bad",
            "b",
            "--build",
            "make",
            "--library",
            "../x.so",
            "--step",
            "readrandom",
        ],
        says: &["../x.so", "within the checkout"],
    },
    Mistake { case: "one subject", arguments: &["compare", RELEASE], says: &["CANDIDATE"] },
];

pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = MISTAKES
        .iter()
        .map(|mistake| Case::new(format!("usage {}", mistake.case), |scratch| refused(scratch, mistake)))
        .collect();
    cases.push(Case::new("usage workload file", workload_file));
    cases.push(Case::new("usage engine option", engine_option));
    cases.push(Case::new("usage help", help));
    cases.push(Case::new("usage standard error that is full", full_stderr));
    cases
}

fn refused(scratch: &Scratch, mistake: &Mistake) -> anyhow::Result<Ending> {
    let finished = Call::new(scratch, mistake.arguments).fails(&[2], mistake.says)?;
    ensure!(finished.stdout.is_empty(), "a refusal printed a result: {}", finished.stdout);
    ensure!(finished.took.as_secs() < AT_ONCE_SECONDS, "it took {:.0} s", finished.took.as_secs_f64());
    Ok(Ending::Passed)
}

/// The exit status tells what happened, also if nothing can be said.
fn full_stderr(scratch: &Scratch) -> anyhow::Result<Ending> {
    let into_full = ["sh", "-c", "exec \"$0\" \"$@\" 2>/dev/full"];
    let arguments = ["report", "no-such-run"];
    let usual = Call::new(scratch, arguments).run()?.code()?;
    ensure!(usual != 0, "there is such a run");
    Call::new(scratch, arguments).through(into_full).run()?.expect_code(&[usual])?;
    Ok(Ending::Passed)
}

/// A mistake in a workload file is shown with its file.
fn workload_file(scratch: &Scratch) -> anyhow::Result<Ending> {
    let tiny = std::fs::read_to_string(&scratch.workload).context("failed to read the workload")?;
    for (from, to, says) in [
        ("block_ms = 10", "block_msec = 10", "block_msec"),
        ("\"read-random\"", "\"read-randm\"", "read-random"),
        ("[data]", "[data", "broken.toml"),
    ] {
        let path = scratch.write("broken.toml", &tiny.replacen(from, to, 1))?;
        Call::new(scratch, ["compare", RELEASE, RELEASE, "--workload"])
            .and([&path])
            .fails(&[2], &["broken.toml", says])?;
    }
    Ok(Ending::Passed)
}

/// An option that the engine does not know is named, and nothing is judged.
fn engine_option(scratch: &Scratch) -> anyhow::Result<Ending> {
    let tiny = std::fs::read_to_string(&scratch.workload).context("failed to read the workload")?;
    let path = scratch.write("option.toml", &tiny.replace("write_buffer_size", "write_bufer_size"))?;
    Call::new(scratch, ["compare", RELEASE, RELEASE, "--budget", "15s", "--workload"])
        .and([&path])
        .fails(&[2, 3], &["write_bufer_size"])?;
    Ok(Ending::Passed)
}

/// Each command explains itself; the main one with examples.
fn help(scratch: &Scratch) -> anyhow::Result<Ending> {
    for command in ["compare", "calibrate", "bisect", "report", "engine", "workload"] {
        let text = Call::new(scratch, [command, "--help"]).succeeds()?.stdout;
        ensure!(text.contains(&format!("dbdyno {command}")), "`{command} --help` shows no usage:\n{text}");
    }
    for arguments in [&["--help"][..], &["compare", "--help"]] {
        let text = Call::new(scratch, arguments).succeeds()?.stdout;
        ensure!(text.contains("Examples:\n  dbdyno compare rocksdb@"), "no examples in:\n{text}");
    }
    let version = Call::new(scratch, ["--version"]).succeeds()?.stdout;
    ensure!(version.starts_with("dbdyno "), "--version says {version}");
    Ok(Ending::Passed)
}
