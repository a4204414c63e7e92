//! Programs that dbdyno starts: whether they are installed, and what is missing without them.

use super::{Patient, Question};
use model::doctor::Check;

/// A program and what it is for. `mvn` and `cc` are in most uses, the others in few.
pub(super) struct Tool {
    pub program: &'static str,
    id: &'static str,
    why: &'static str,
    package: &'static str,
}

pub(super) const TOOLS: [Tool; 7] = [
    Tool {
        program: "mvn",
        id: "tool-mvn",
        why: "fetches builds of RocksDB, Postgres and of some of MySQL and MariaDB",
        package: "maven",
    },
    Tool { program: "npm", id: "tool-npm", why: "fetches MySQL 5.6", package: "npm" },
    Tool {
        program: "apt-get",
        id: "tool-apt-get",
        why: "fetches MariaDB, MyRocks and the newest MySQL",
        package: "apt",
    },
    Tool { program: "git", id: "tool-git", why: "bisects commits", package: "git" },
    Tool { program: "fio", id: "tool-fio", why: "measures devices", package: "fio" },
    Tool {
        program: "perf",
        id: "tool-perf",
        why: "reads counters of the CPU, and profiles",
        package: "linux-perf",
    },
    Tool { program: "gdb", id: "tool-gdb", why: "reads the stacks of a server's threads", package: "gdb" },
];

pub(super) fn checks(patient: &Patient) -> Vec<Check> {
    TOOLS.iter().map(|tool| check(patient, tool)).collect()
}

fn check(patient: &Patient, tool: &Tool) -> Check {
    let question = Question { id: tool.id, want: "installed, if it is needed", why: tool.why };
    match patient.moment.tools.get(tool.program) {
        Some(found) => question.ok(found.clone()),
        None => Check {
            fix: format!("apt-get install {}", tool.package),
            ..question.unknown(format!("no `{}` on the PATH", tool.program))
        },
    }
}
