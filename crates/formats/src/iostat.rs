//! What iostat prints with `-x`: reports one after another, each with a table of devices, and one of CPUs.
//!
//! sysstat 10 to 12; releases have moved columns and renamed some:
//!
//! ```text
//! Device:  rrqm/s  wrqm/s   r/s   w/s   rkB/s   wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util
//! Device     r/s   rkB/s  rrqm/s %rrqm r_await rareq-sz    w/s   wkB/s  wrqm/s %wrqm w_await wareq-sz .. aqu-sz %util
//! vda       1.09   22.49    0.03  2.92    0.69    20.60   2.01   46.32    3.81 65.46    1.93    23.00 ..   0.01  0.18
//! ```
//!
//! Columns are found by their header. The first report tells of the time since the host was started, unless iostat
//! was told to leave that out (`-y`): the text does not say, so that the caller has to.

use crate::ParseError;
use crate::lines::{check_name, last, numbered};
use crate::samples::{FirstReport, Mean, Row, fit, means, row};
use std::collections::BTreeMap;
use std::sync::Arc;

const WHAT: &str = "output of iostat";

/// What the table of CPUs begins with.
const CPU_HEADER: &str = "avg-cpu:";

/// What a whole text is made of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IostatOutput {
    /// `Linux 6.1.0 (host) ..`: system, host, date, CPUs; absent where it was cut away.
    pub system: Option<String>,
    /// The reports, in their order.
    pub reports: Vec<IostatReport>,
    /// The last line, where it has no line break: it may lack digits, and is left out.
    pub cut_off: Option<usize>,
}

/// What happened between this report and the one before it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IostatReport {
    /// The line it begins on, from 1.
    pub line: usize,
    /// When it was printed, as it stands there; with `-t`.
    pub time: Option<String>,
    /// Percent of all CPUs, by column: `%user`, `%iowait`; without `-d`.
    pub cpu: Row,
    /// The devices, in their order.
    pub devices: Vec<DeviceRow>,
}

/// One device in one report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceRow {
    /// `nvme0n1`
    pub device: String,
    /// Values by column, in the unit that the column has: `r/s`, `rkB/s`, `r_await`.
    pub values: Row,
}

/// Means over the reports.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IostatMeans {
    /// Of the CPUs, by column.
    pub cpu: BTreeMap<String, Mean>,
    /// Of each device, in the order in which they first appear.
    pub devices: Vec<DeviceMeans>,
}

/// Means of one device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceMeans {
    /// `nvme0n1`
    pub device: String,
    pub values: BTreeMap<String, Mean>,
}

impl IostatOutput {
    /// Means as Small Datum has them: of each column over the reports, each report alike, also those in which a device
    /// did nothing. None where there is no report but the first, and that does not count.
    pub fn means(&self, first: FirstReport) -> Option<IostatMeans> {
        let reports = self.reports.get(first.skipped()..).filter(|reports| !reports.is_empty())?;
        let mut devices: Vec<(&str, Vec<&Row>)> = Vec::new();
        for row in reports.iter().flat_map(|report| &report.devices) {
            match devices.iter_mut().find(|(device, _)| *device == row.device) {
                Some((_, rows)) => rows.push(&row.values),
                None => devices.push((&row.device, vec![&row.values])),
            }
        }
        Some(IostatMeans {
            cpu: means(reports.iter().map(|report| &report.cpu)),
            devices: devices
                .into_iter()
                .map(|(device, rows)| DeviceMeans { device: device.to_owned(), values: means(rows) })
                .collect(),
        })
    }
}

/// Reads the text. Errors: there is no table of devices, a row has another number of columns than its header, or a
/// cell is no number.
pub fn parse(text: &str) -> Result<IostatOutput, ParseError> {
    let mut reader = Reader::default();
    for line in numbered(text) {
        if !line.whole {
            reader.output.cut_off = Some(line.number);
            break;
        }
        reader.line(line.text, line.number).map_err(|problem| ParseError {
            what: WHAT,
            line: line.number,
            problem,
        })?;
    }
    if reader.output.reports.iter().all(|report| report.devices.is_empty()) {
        let problem = "there is no device below a header like `Device r/s rkB/s ..`".to_owned();
        return Err(ParseError { what: WHAT, line: last(text), problem });
    }
    Ok(reader.output)
}

#[derive(Default)]
struct Reader {
    output: IostatOutput,
    table: Table,
    /// Of the report that follows.
    time: Option<String>,
    /// Columns that were seen: each report repeats them.
    columns: Vec<Arc<[String]>>,
}

/// The table that lines belong to.
#[derive(Default)]
enum Table {
    #[default]
    None,
    Cpu(Arc<[String]>),
    Devices(DeviceColumns),
}

/// The header of a table of devices.
struct DeviceColumns {
    all: Vec<String>,
    /// Which of them is the name of the device: the last one with `-h`.
    device: usize,
    numbers: Arc<[String]>,
}

impl Reader {
    fn line(&mut self, text: &str, number: usize) -> Result<(), String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.is_empty() {
            self.table = Table::None;
        } else if words[0] == CPU_HEADER {
            self.begin(number);
            let columns = words[1..].iter().map(|word| (*word).to_owned()).collect();
            self.table = Table::Cpu(self.shared(columns)?);
        } else if let Some(device) = words.iter().position(|word| word.trim_end_matches(':') == "Device") {
            let goes_on = self.output.reports.last().is_some_and(|report| {
                report.devices.is_empty() && !report.cpu.is_empty() && self.time.is_none()
            });
            if !goes_on {
                self.begin(number);
            }
            let all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let numbers = self.shared([&all[..device], &all[device + 1..]].concat())?;
            self.table = Table::Devices(DeviceColumns { all, device, numbers });
        } else {
            self.row(text, &words)?;
        }
        Ok(())
    }

    fn begin(&mut self, line: usize) {
        let report = IostatReport { line, time: self.time.take(), ..IostatReport::default() };
        self.output.reports.push(report);
    }

    fn shared(&mut self, columns: Vec<String>) -> Result<Arc<[String]>, String> {
        columns.iter().try_for_each(|name| check_name(name))?;
        let known = self.columns.iter().find(|known| known[..] == columns[..]).cloned();
        Ok(known.unwrap_or_else(|| {
            self.columns.push(columns.into());
            self.columns[self.columns.len() - 1].clone()
        }))
    }

    fn row(&mut self, text: &str, words: &[&str]) -> Result<(), String> {
        match (&self.table, self.output.reports.last_mut()) {
            (Table::Cpu(columns), Some(report)) => {
                fit(columns, words)?;
                report.cpu = row(columns, words)?;
            }
            (Table::Devices(columns), Some(report)) => report.devices.push(device_row(columns, words)?),
            // Between tables: what the system is, and the time of the next report.
            _ if words[0] == "Linux" => self.output.system = Some(text.to_owned()),
            _ => self.time = Some(text.to_owned()),
        }
        Ok(())
    }
}

fn device_row(columns: &DeviceColumns, words: &[&str]) -> Result<DeviceRow, String> {
    fit(&columns.all, words)?;
    let cells = [&words[..columns.device], &words[columns.device + 1..]].concat();
    Ok(DeviceRow { device: words[columns.device].to_owned(), values: row(&columns.numbers, &cells)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::refused;

    const XK: &str = include_str!("../fixtures/iostat/12.6.1.xk.txt");
    const WITH_TIMES: &str = include_str!("../fixtures/iostat/12.6.1.t_y_mx.txt");
    const WITHOUT_CPU: &str = include_str!("../fixtures/iostat/12.6.1.dx.txt");
    const TEN: &str = include_str!("../fixtures/iostat/10.2.typed.txt");
    const ELEVEN: &str = include_str!("../fixtures/iostat/11.6.typed.txt");

    #[track_caller]
    fn check_mean(found: Mean, value: f64, samples: usize) {
        assert!((found.value - value).abs() < 1e-9 && found.samples == samples, "{found:?}");
    }

    #[test]
    fn each_report_has_its_cpu_and_its_devices() {
        let output = parse(XK).unwrap();
        assert_eq!(output.system.as_deref(), XK.lines().next().map(str::trim_end));
        assert_eq!((output.reports.len(), output.cut_off), (4, None));
        for report in &output.reports {
            let devices: Vec<&str> = report.devices.iter().map(|row| row.device.as_str()).collect();
            assert_eq!(devices, ["loop0", "loop1", "loop2", "vda"]);
            let cpu: f64 = report.cpu.iter().filter_map(|(_, percent)| percent).sum();
            assert!((cpu - 100.0).abs() < 0.1, "{report:?}");
            assert!(XK.lines().nth(report.line - 1).unwrap().starts_with("avg-cpu:"));
            for row in &report.devices {
                assert_eq!(row.values.iter().count(), 22);
                let of = |column: &str| row.values.value(column).unwrap();
                if of("w/s") > 10.0 {
                    assert!((of("wkB/s") / of("w/s") / of("wareq-sz") - 1.0).abs() < 0.05, "{row:?}");
                }
            }
        }
    }

    #[test]
    fn reports_may_have_times_and_no_cpu() {
        let times: Vec<_> =
            parse(WITH_TIMES).unwrap().reports.into_iter().map(|report| report.time).collect();
        assert_eq!(times.len(), 2);
        assert!(times.iter().flatten().all(|time| time.starts_with("11/21/26 ")), "{times:?}");
        let reports = parse(WITHOUT_CPU).unwrap().reports;
        assert_eq!(reports.iter().map(|report| report.devices.len()).collect::<Vec<_>>(), [4, 4]);
        assert!(reports.iter().all(|report| report.cpu.is_empty() && report.time.is_none()));
    }

    #[test]
    fn columns_are_found_where_a_release_has_them() {
        for (text, device, column, expected) in [
            (TEN, "sda", "r/s", 200.0),
            (TEN, "sda", "avgrq-sz", 32.215),
            (TEN, "dm-0", "%util", 11.15),
            (ELEVEN, "nvme0n1", "rMB/s", 1.56),
            (ELEVEN, "nvme0n1", "w_await", 0.4),
        ] {
            let means = parse(text).unwrap().means(FirstReport::SinceBoot).unwrap();
            let device = means.devices.iter().find(|means| means.device == device).unwrap();
            let samples = if text == TEN { 2 } else { 1 };
            check_mean(device.values[column], expected, samples);
        }
    }

    #[test]
    fn the_first_report_counts_where_the_caller_says_so() {
        let output = parse(TEN).unwrap();
        let of = |first: FirstReport| output.means(first).unwrap();
        check_mean(of(FirstReport::SinceBoot).cpu["%user"], 25.0, 2);
        check_mean(of(FirstReport::Interval).cpu["%user"], 17.0, 3);
        let alone = IostatOutput { reports: output.reports[..1].to_vec(), ..IostatOutput::default() };
        assert_eq!(alone.means(FirstReport::SinceBoot), None);
        assert!(alone.means(FirstReport::Interval).is_some());
    }

    #[test]
    fn the_name_of_the_device_may_stand_last() {
        let text = "     r/s     rkB/s  %util Device\n    1.00      2.00   3.0 sda\n\n";
        let output = parse(text).unwrap();
        let row = &output.reports[0].devices[0];
        assert_eq!(
            (row.device.as_str(), row.values.value("r/s"), row.values.value("%util")),
            ("sda", Some(1.0), Some(3.0))
        );
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let check = refused("output of iostat", parse);
        let nothing = "there is no device below a header like `Device r/s rkB/s ..`";
        check("", &format!("1: {nothing}"));
        check("\u{0}\u{fffd}\n\u{1}\n", &format!("2: {nothing}"));
        check("Device r/s w/s\n", &format!("1: {nothing}"));
        let device = |row: &str| format!("Device: r/s w/s\n{row}\n");
        check(&device("sda 1.00"), "2: 2 values below 3 columns: nothing in column w/s");
        check(&device("sda 1.00 2.00 3.00"), "2: 4 values below 3 columns");
        check(&device("sda 1.00 x"), "2: `x` in column w/s is no number");
        let comma = "2: `1,00` in column r/s is no number; decimal commas are not read: record with LC_ALL=C";
        check(&device("sda 1,00 2,00"), comma);
        check("avg-cpu: %user %idle\n 5.00\n", "2: 1 values below 2 columns: nothing in column %idle");
        let long = format!("Device {}\nsda 1.00\n", "x".repeat(1001));
        check(&long, "1: a name of 1001 bytes is longer than 1000: this is no table");
        let absent = parse(&device("sda nan 2.00")).unwrap();
        assert_eq!(absent.reports[0].devices[0].values.value("r/s"), None);
    }

    #[test]
    fn a_last_line_that_was_cut_off_is_left_out() {
        let whole = parse(XK).unwrap();
        for end in (0..XK.len()).step_by(3) {
            let Ok(output) = parse(&XK[..end]) else { continue };
            let is_cut = !XK[..end].ends_with('\n');
            assert_eq!(output.cut_off, is_cut.then(|| XK[..end].lines().count()), "cut at {end}");
            for (found, whole) in output.reports.iter().zip(&whole.reports) {
                assert!(found.cpu.is_empty() || found.cpu == whole.cpu, "cut at {end}");
                assert_eq!(found.devices, whole.devices[..found.devices.len()], "cut at {end}");
            }
        }
    }
}
