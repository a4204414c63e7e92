//! What about a host and a plan is to be known before a run begins: on the host of the servers, which may be another one than that of the store.

use crate::commands::doctor;
use crate::planning;
use model::build::EngineBuild;
use model::event::RunEvent;
use model::host::Host;
use model::plan::{Design, Plan};
use model::warning::Warning;
use model::workload::DatabaseKind;
use runner::doctor::Needs;
use runner::proc::host;
use runner::real::library_copy;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Checks with a warning of their own.
const SAID_ALREADY: [&str; 2] = ["cpu-governor", "other-load"];

/// Why this host is not fit for the plan. A bisection has hundreds of runs that take the same: only the first of a process looks.
pub fn unfit(plan: &Plan, directory: &Path) -> Option<Warning> {
    static LOOKED_FOR: Mutex<Option<Needs>> = Mutex::new(None);
    let needs = planning::needs(plan);
    let before = LOOKED_FOR.lock().unwrap_or_else(PoisonError::into_inner).replace(needs);
    if before == Some(needs) {
        return None;
    }
    let mut checks = doctor::failing(&doctor::look(directory, Some(needs)));
    checks.retain(|check| !SAID_ALREADY.contains(&check.as_str()));
    (!checks.is_empty()).then_some(Warning::HostUnfit { checks })
}

/// More than this share of the CPUs busy before we begin: somebody else is at work.
const BUSY_LOAD_PER_CPU: f64 = 0.5;

/// Whether a server that speaks the protocol of MongoDB says of itself that it is another one.
fn is_ferretdb(build: &EngineBuild) -> bool {
    let facts = build.probe.iter().flat_map(|probe| probe.facts.keys());
    facts.into_iter().any(|name| name.starts_with("ferretdb"))
}

/// What about this host and this plan a reader of the numbers must know.
pub fn host_warnings(plan: &Plan, host: &Host, directory: &Path) -> Vec<RunEvent> {
    let mut warnings: Vec<RunEvent> = Vec::new();
    let mut warn = |warning| warnings.push(RunEvent::Warned { step: None, warning });
    if cfg!(debug_assertions) {
        warn(Warning::DebugBuild);
    }
    of_host(host).into_iter().for_each(&mut warn);
    if plan.own_image {
        warn(Warning::OwnImage);
    }
    for subject in &plan.subjects {
        if let Some(server) = subject.build.elsewhere() {
            let (subject, server) = (subject.reference.to_string(), server.to_string());
            warn(Warning::ServerElsewhere { subject, server });
        }
    }
    for subject in plan.subjects.iter().filter(|subject| is_ferretdb(&subject.build)) {
        let (server, of) = ("FerretDB".to_owned(), "MongoDB".to_owned());
        warn(Warning::OtherServer { subject: subject.reference.to_string(), server, of });
    }
    if let Some(obstacle) = library_copy::obstacle(&plan.subjects, directory) {
        warn(Warning::LibrariesInPlace { reason: obstacle.to_string() });
    }
    let interleaved = plan.layout.design == Design::Interleaved;
    let here = plan.subjects.iter().filter(|subject| subject.build.elsewhere().is_none()).count();
    if !interleaved
        && here > 0
        && plan.layout.loop_device.is_none()
        && let Err(reason) = host::device_of(directory)
    {
        warn(Warning::NoDevice { reason: reason.to_string() });
    }
    if interleaved && here > 1 && plan.chosen_steps().any(|step| step.database == DatabaseKind::Own) {
        warn(Warning::SharedDevice { device: host.device.clone() });
    }
    warnings
}

/// What about the host of the clients a reader must know, if it is not that of the servers: their CPU time is in every rate too.
pub fn clients_warnings(clients: &Host) -> Vec<RunEvent> {
    let named = |warning| Warning::ClientsHost { warning: Box::new(warning) };
    of_host(clients)
        .into_iter()
        .map(|warning| RunEvent::Warned { step: None, warning: named(warning) })
        .collect()
}

/// How a host was when it was described.
fn of_host(host: &Host) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let load = host.load_1m.as_deref().and_then(|load| load.parse::<f64>().ok());
    let cpus = host.counted_cpus();
    if let Some(load_1m) = load.filter(|load| *load > f64::from(cpus) * BUSY_LOAD_PER_CPU) {
        warnings.push(Warning::BusyHost { load_1m, cpus });
    }
    if let Some(online) = host.withheld_from() {
        warnings.push(Warning::WithheldCpus { usable: host.cpus, online });
    }
    if let Some(governor) = host.governor.as_ref().filter(|governor| *governor != "performance") {
        warnings.push(Warning::CpuGovernor { governor: governor.clone() });
    }
    if host.virtual_machine {
        warnings.push(Warning::VirtualMachine);
    }
    warnings
}

/// Whether it tells of the load that the host had.
pub fn is_of_load(warning: &Warning) -> bool {
    match warning {
        Warning::ClientsHost { warning } => is_of_load(warning),
        other => matches!(other, Warning::BusyHost { .. }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_the_clients_is_warned_of_as_a_host_of_its_own() {
        let quiet = Host {
            cpus: 4,
            governor: Some("performance".to_owned()),
            load_1m: Some("0.10".to_owned()),
            ..Host::default()
        };
        assert!(clients_warnings(&quiet).is_empty());
        let busy = Host { governor: Some("powersave".to_owned()), load_1m: Some("3.10".to_owned()), ..quiet };
        let warnings: Vec<(String, bool)> = clients_warnings(&busy)
            .iter()
            .map(|event| match event {
                RunEvent::Warned { step: None, warning } => (warning.to_string(), is_of_load(warning)),
                other => panic!("{other:?}"),
            })
            .collect();
        let load = "host of the clients: load average 3.1 on 4 CPUs before the run: the host is busy";
        let governor = "host of the clients: the CPU frequency governor is `powersave`, not `performance`";
        assert_eq!(warnings, [(load.to_owned(), true), (governor.to_owned(), false)]);
    }
}
