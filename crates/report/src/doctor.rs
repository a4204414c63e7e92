//! What a doctor has found, as text: what is wrong first, with what to do, then what is fine in one line each.

use crate::render::layout::wrapped;
use model::doctor::{Check, CheckStatus, Examination};
use model::figures::quantity;
use model::fingerprint::Fingerprint;
use std::fmt::Write;

/// Width of the columns before what was found.
const INDENT: usize = 33;

/// All checks, the worst first; those of one status in their order.
pub fn text(examination: &Examination, width: usize) -> String {
    let mut text = summary(examination) + "\n\n";
    let in_order = [CheckStatus::Fail, CheckStatus::Warn, CheckStatus::Ok, CheckStatus::Unknown];
    for status in in_order {
        let checks = examination.checks.iter().filter(|check| check.status == status);
        for check in checks {
            text += &of_check(check, width);
        }
    }
    text
}

/// `1 fails, 5 warn, 20 are fine, 4 are not known here.`
pub fn summary(examination: &Examination) -> String {
    let verb = |count: usize, one: &str, several: &str| {
        if count == 1 { format!("{count} {one}") } else { format!("{count} {several}") }
    };
    let count = |status| examination.count(status);
    format!(
        "{} checks: {}, {}, {}, {} known here.",
        examination.checks.len(),
        verb(count(CheckStatus::Fail), "fails", "fail"),
        verb(count(CheckStatus::Warn), "warns", "warn"),
        verb(count(CheckStatus::Ok), "is fine", "are fine"),
        verb(count(CheckStatus::Unknown), "is not", "are not"),
    )
}

/// A fingerprint, each figure beside that of before.
pub fn fingerprint(fingerprint: &Fingerprint, before: Option<&Fingerprint>) -> String {
    let mut text = format!("\nFingerprint of {}\n", fingerprint.host);
    for figure in &fingerprint.figures {
        let steadiness = if figure.is_steady() { "" } else { ", not steady" };
        let old = before.and_then(|before| before.figures.iter().find(|old| old.name == figure.name));
        let change = match old {
            Some(old) => format!(
                "; {} before ({:+.1} %)",
                quantity(old.value),
                100.0 * (figure.value / old.value - 1.0)
            ),
            None => String::new(),
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "  {:<22} {:>9}  repeats within {:.1} %{steadiness}{change}",
            figure.name,
            quantity(figure.value),
            100.0 * figure.spread,
        );
    }
    text
}

fn of_check(check: &Check, width: usize) -> String {
    let mut text = String::new();
    let mut line = |head: &str, rest: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", wrapped_from(head, rest, width));
    };
    line(&format!("{:<8} {:<23} ", check.status.name(), check.id), &check.found);
    if matches!(check.status, CheckStatus::Warn | CheckStatus::Fail) {
        let head = |word: &str| format!("{:>width$} ", word, width = INDENT - 1);
        line(&head("wanted"), &check.want);
        line(&head("why"), &check.why);
        let by_itself = if check.settings.is_empty() { "" } else { " (`dbdyno doctor --fix` does it)" };
        line(&head("do"), &format!("{}{by_itself}", check.fix));
    }
    text
}

/// The rest in lines of its own behind the head.
fn wrapped_from(head: &str, rest: &str, width: usize) -> String {
    let blank = "\u{a0}".repeat(INDENT - 1);
    let lines = wrapped(&format!("{blank} {rest}"), width.max(INDENT + 20), INDENT);
    let behind: String = lines.chars().skip(INDENT).collect();
    format!("{head}{behind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: &str, status: CheckStatus, found: &str, fix: &str) -> Check {
        Check {
            id: id.to_owned(),
            status,
            found: found.to_owned(),
            want: "below 1 %".to_owned(),
            why: "the host of this virtual machine gave its CPUs to others while this one was ready to run"
                .to_owned(),
            fix: fix.to_owned(),
            settings: Vec::new(),
        }
    }

    #[test]
    fn a_fingerprint_stands_beside_the_one_before() {
        let figure = |name: &str, value, spread| model::fingerprint::HostFigure {
            name: name.to_owned(),
            value,
            spread,
        };
        let of = |cpu| Fingerprint {
            at_us: 1,
            host: "bench-1".to_owned(),
            boot_id: "b".to_owned(),
            device: None,
            figures: vec![figure("cpu_ns_per_step", cpu, 0.004), figure("fsync_us", 1234.5, 0.12)],
        };
        let before = Fingerprint { figures: of(1.25).figures[..1].to_vec(), ..of(1.25) };
        insta::assert_snapshot!("fingerprint", fingerprint(&of(1.3), Some(&before)));
    }

    #[test]
    fn what_is_wrong_comes_first_and_says_what_to_do() {
        let setting = model::doctor::Setting { path: "/sys/x".into(), value: "1".to_owned() };
        let examination = Examination::of(vec![
            check("clock-source", CheckStatus::Ok, "tsc", ""),
            check("cpu-boost", CheckStatus::Unknown, "this host does not say", ""),
            Check {
                settings: vec![setting],
                ..check(
                    "transparent-huge-pages",
                    CheckStatus::Warn,
                    "always",
                    "echo madvise > /sys/kernel/..",
                )
            },
            check(
                "steal",
                CheckStatus::Fail,
                "7.2 %",
                "measure at another time, or on a machine of one's own",
            ),
        ]);
        for width in [80, 120] {
            insta::assert_snapshot!(format!("doctor_{width}"), text(&examination, width));
        }
        assert!(text(&examination, 80).lines().all(|line| line.chars().count() <= 80));
    }
}
