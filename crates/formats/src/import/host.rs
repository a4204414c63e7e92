//! What iostat and vmstat print of a host, as means over its samples.

use super::{Case, KIB, MIB, MS, Source};
use crate::iostat::IostatOutput;
use crate::samples::{FirstReport, Mean};
use crate::vmstat::VmstatOutput;
use model::import::ImportedValue;
use std::collections::BTreeMap;

/// A column of iostat or vmstat: its name there, our metric and unit, and what it is to be multiplied by.
struct HostColumn(&'static str, &'static str, &'static str, f64);

/// Bytes of a sector of iostat.
const SECTOR: f64 = 512.0;

/// Columns of devices that become values. iostat counts KB in powers of 1024. Left out: `svctm`, of which iostat's
/// manual says not to trust it, and shares of merged requests.
const DEVICE_COLUMNS: [HostColumn; 28] = [
    HostColumn("r/s", "disk_reads_per_s", "1/s", 1.0),
    HostColumn("rkB/s", "disk_read_bytes_per_s", "B/s", KIB),
    HostColumn("rMB/s", "disk_read_bytes_per_s", "B/s", MIB),
    HostColumn("rsec/s", "disk_read_bytes_per_s", "B/s", SECTOR),
    HostColumn("rrqm/s", "disk_reads_merged_per_s", "1/s", 1.0),
    HostColumn("r_await", "disk_read_us_mean", "us", MS),
    HostColumn("rareq-sz", "disk_read_bytes_mean", "B", KIB),
    HostColumn("w/s", "disk_writes_per_s", "1/s", 1.0),
    HostColumn("wkB/s", "disk_write_bytes_per_s", "B/s", KIB),
    HostColumn("wMB/s", "disk_write_bytes_per_s", "B/s", MIB),
    HostColumn("wsec/s", "disk_write_bytes_per_s", "B/s", SECTOR),
    HostColumn("wrqm/s", "disk_writes_merged_per_s", "1/s", 1.0),
    HostColumn("w_await", "disk_write_us_mean", "us", MS),
    HostColumn("wareq-sz", "disk_write_bytes_mean", "B", KIB),
    HostColumn("d/s", "disk_discards_per_s", "1/s", 1.0),
    HostColumn("dkB/s", "disk_discard_bytes_per_s", "B/s", KIB),
    HostColumn("dMB/s", "disk_discard_bytes_per_s", "B/s", MIB),
    HostColumn("drqm/s", "disk_discards_merged_per_s", "1/s", 1.0),
    HostColumn("d_await", "disk_discard_us_mean", "us", MS),
    HostColumn("dareq-sz", "disk_discard_bytes_mean", "B", KIB),
    HostColumn("f/s", "disk_flushes_per_s", "1/s", 1.0),
    HostColumn("f_await", "disk_flush_us_mean", "us", MS),
    HostColumn("await", "disk_us_mean", "us", MS),
    HostColumn("avgrq-sz", "disk_bytes_mean", "B", SECTOR),
    HostColumn("areq-sz", "disk_bytes_mean", "B", KIB),
    HostColumn("avgqu-sz", "disk_queue_mean", "", 1.0),
    HostColumn("aqu-sz", "disk_queue_mean", "", 1.0),
    HostColumn("%util", "disk_busy_percent", "%", 1.0),
];

/// Columns of iostat's table of CPUs.
const CPU_COLUMNS: [HostColumn; 6] = [
    HostColumn("%user", "user_cpu_percent", "%", 1.0),
    HostColumn("%nice", "nice_cpu_percent", "%", 1.0),
    HostColumn("%system", "system_cpu_percent", "%", 1.0),
    HostColumn("%iowait", "iowait_percent", "%", 1.0),
    HostColumn("%steal", "steal_percent", "%", 1.0),
    HostColumn("%idle", "idle_percent", "%", 1.0),
];

/// Columns of vmstat. Its blocks are KiB; its memory is, unless it was told another unit, which it does not say.
const VMSTAT_COLUMNS: [HostColumn; 20] = [
    HostColumn("bi", "disk_read_bytes_per_s", "B/s", KIB),
    HostColumn("bo", "disk_write_bytes_per_s", "B/s", KIB),
    HostColumn("cs", "context_switches_per_s", "1/s", 1.0),
    HostColumn("us", "user_cpu_percent", "%", 1.0),
    HostColumn("sy", "system_cpu_percent", "%", 1.0),
    HostColumn("id", "idle_percent", "%", 1.0),
    HostColumn("wa", "iowait_percent", "%", 1.0),
    HostColumn("st", "steal_percent", "%", 1.0),
    HostColumn("gu", "guest_percent", "%", 1.0),
    HostColumn("in", "interrupts_per_s", "1/s", 1.0),
    HostColumn("r", "runnable", "", 1.0),
    HostColumn("b", "blocked", "", 1.0),
    HostColumn("swpd", "swapped_bytes", "B", KIB),
    HostColumn("free", "free_bytes", "B", KIB),
    HostColumn("buff", "buffer_bytes", "B", KIB),
    HostColumn("cache", "cache_bytes", "B", KIB),
    HostColumn("inact", "inactive_bytes", "B", KIB),
    HostColumn("active", "active_bytes", "B", KIB),
    HostColumn("si", "swap_in_bytes_per_s", "B/s", KIB),
    HostColumn("so", "swap_out_bytes_per_s", "B/s", KIB),
];

/// The means of iostat's reports: a test for each device that did anything, and one of the CPUs. Empty where there is no
/// report to take them of.
pub fn of_iostat(output: &IostatOutput, first: FirstReport, source: Source<'_>) -> Vec<ImportedValue> {
    let Some(means) = output.means(first) else { return Vec::new() };
    let place = place(output.reports.iter().map(|report| report.line), first);
    let case = |step| Case { file: source.file, subject: source.subject, step, place: &place };
    let busy = means.devices.iter().filter(|device| device.values.values().any(|mean| mean.value > 0.0));
    let mut values: Vec<ImportedValue> =
        busy.flat_map(|device| of_means(&device.values, &DEVICE_COLUMNS, &case(&device.device))).collect();
    values.extend(of_means(&means.cpu, &CPU_COLUMNS, &case("cpu")));
    values
}

/// The means of vmstat's rows, and `cpu_percent`, user and system together, as Small Datum has it. Empty where there is no row
/// to take them of.
pub fn of_vmstat(output: &VmstatOutput, first: FirstReport, source: Source<'_>) -> Vec<ImportedValue> {
    let Some(means) = output.means(first) else { return Vec::new() };
    let place = place(output.rows.iter().map(|row| row.line), first);
    let case = Case { file: source.file, subject: source.subject, step: "host", place: &place };
    let mut values = of_means(&means, &VMSTAT_COLUMNS, &case);
    let both = means.get("us").zip(means.get("sy")).filter(|(user, system)| user.samples == system.samples);
    values.extend(case.value("cpu_percent", "%", both.map(|(user, system)| user.value + system.value)));
    values
}

fn of_means(means: &BTreeMap<String, Mean>, columns: &[HostColumn], case: &Case<'_>) -> Vec<ImportedValue> {
    let samples = means.values().map(|mean| mean.samples).max();
    let mut values: Vec<ImportedValue> = columns
        .iter()
        .filter_map(|HostColumn(column, metric, unit, factor)| {
            case.value(metric, unit, means.get(*column).map(|mean| mean.value * factor))
        })
        .collect();
    if !values.is_empty() {
        values.extend(case.value("samples", "", samples.map(|samples| samples as f64)));
    }
    values
}

/// `line 7`: where the first report begins that counts.
fn place(mut lines: impl Iterator<Item = usize>, first: FirstReport) -> String {
    format!("line {}", lines.nth(first.skipped()).unwrap_or(1))
}
