//! Reading the text, line by line. Lines that are not known are passed over: there are histograms, block caches and,
//! in the output of db_bench, anything else around.

use super::{LevelRow, RocksDbStats};
use crate::ParseError;
use crate::number::{Rounded, bytes, count, whole};

const WHAT: &str = "statistics of RocksDB";

/// The last statistics in the text. Errors: there are none, or a known line cannot be read.
pub fn parse(text: &str) -> Result<RocksDbStats, ParseError> {
    let problem = "there is no table `** Compaction Stats [..] **`".to_owned();
    let line = text.lines().count().max(1);
    parse_all(text)?.pop().ok_or(ParseError { what: WHAT, line, problem })
}

/// All statistics in the text, in their order: a LOG has one every ten minutes. Errors: a known line cannot be read.
pub fn parse_all(text: &str) -> Result<Vec<RocksDbStats>, ParseError> {
    let mut reader = Reader::default();
    for (line, number) in text.lines().zip(1..) {
        reader.line(line).map_err(|problem| ParseError { what: WHAT, line: number, problem })?;
    }
    reader.end_of_statistics();
    Ok(reader.finished)
}

#[derive(Default)]
struct Reader {
    finished: Vec<RocksDbStats>,
    current: RocksDbStats,
    /// The column family that the lines are about.
    family: String,
    /// Those of the current statistics whose levels were read.
    families: Vec<String>,
    /// Whether the part on the whole database was begun in the current statistics.
    database_part: bool,
    section: Section,
    /// Of the table that is being read.
    columns: Vec<String>,
    uptime: Option<Rounded>,
    /// Of the last row `Sum`, as printed.
    last_sum_seconds: f64,
}

#[derive(Default, PartialEq)]
enum Section {
    #[default]
    Elsewhere,
    Levels {
        first: bool,
    },
    Family,
    Database,
}

/// A line that was begun cannot be read: what is wrong.
type Read<T> = Result<T, String>;

impl Reader {
    fn line(&mut self, line: &str) -> Read<()> {
        // 8.1 and 8.2 end the part on the database without a newline, so a heading may stand anywhere.
        if let Some((before, heading)) = line.split_once("** Compaction Stats [") {
            if !before.is_empty() {
                self.line(before)?;
            }
            self.family = heading.split(']').next().unwrap_or_default().to_owned();
            self.section = Section::Family;
            return Ok(());
        }
        if line.contains("** DB Stats **") {
            if self.database_part {
                self.end_of_statistics();
            }
            (self.database_part, self.section) = (true, Section::Database);
            return Ok(());
        }
        if line.starts_with("Level ") && line.contains("Comp(sec)") {
            self.begin_levels(line);
            return Ok(());
        }
        if line.starts_with("Priority ") {
            self.section = Section::Family; // the same again, by priority
            return Ok(());
        }
        match self.section {
            Section::Elsewhere => Ok(()),
            Section::Levels { first } => self.level(line, first),
            Section::Family => self.family(line),
            Section::Database => self.database(line),
        }
    }

    /// A family has its table once: the second is of a later text.
    fn begin_levels(&mut self, header: &str) {
        if self.families.contains(&self.family) {
            self.end_of_statistics();
        }
        self.families.push(self.family.clone());
        self.columns = header.split_whitespace().map(str::to_owned).collect();
        self.section = Section::Levels { first: self.families.len() == 1 };
    }

    fn end_of_statistics(&mut self) {
        let current = std::mem::take(&mut self.current);
        if !self.families.is_empty() {
            self.finished.push(current);
        }
        self.families.clear();
        (self.database_part, self.section, self.uptime) = (false, Section::Elsewhere, None);
    }

    fn level(&mut self, line: &str, first: bool) -> Read<()> {
        if line.starts_with("---") {
            return Ok(());
        }
        if line.trim().is_empty() {
            self.section = Section::Family;
            return Ok(());
        }
        let cells: Vec<&str> = line.split_whitespace().collect();
        let name = cells.first().copied().unwrap_or_default();
        if !(name == "Sum" || name == "Int" || name.starts_with('L')) {
            // Up to 6.1 nothing stands between the table and the lines that follow it.
            self.section = Section::Family;
            return self.family(line);
        }
        let row = level_row(&self.columns, &cells)?;
        match name {
            "Int" => {}
            "Sum" => self.add_sum(&row),
            _ if first => self.current.levels.push(row),
            _ => {}
        }
        Ok(())
    }

    fn add_sum(&mut self, sum: &LevelRow) {
        let current = &mut self.current;
        add(&mut current.lsm_bytes, sum.bytes);
        add(&mut current.files, sum.files);
        add(&mut current.blob_read_bytes, sum.blob_read_bytes);
        add(&mut current.blob_write_bytes, sum.blob_write_bytes);
        add_seconds(&mut current.compaction_cpu_s, sum.compaction_cpu_s);
        add_seconds(&mut current.compaction_s, sum.compaction_s);
        self.last_sum_seconds = sum.compaction_s.unwrap_or(0.0);
    }

    fn family(&mut self, line: &str) -> Read<()> {
        if let Some(rest) = line.strip_prefix("Uptime(secs): ") {
            self.take_uptime(rest)?;
        } else if let Some(rest) = line.strip_prefix("Flush(GB): cumulative ") {
            let total = rest.split(',').next().unwrap_or_default();
            let total = bytes(total, "GB").ok_or_else(|| format!("`{total}` is no number of GB"))?;
            add(&mut self.current.flush_bytes, Some(whole(total.value)));
        } else if let Some(rest) = line.strip_prefix("Cumulative compaction: ") {
            self.compaction(rest)?;
        } else if let Some(rest) = line.strip_prefix("Blob file count: ") {
            self.blob_files(rest)?;
        } else if let Some(rest) = line.strip_prefix("Stalls(count): ") {
            self.stalls_to_8_0(rest)?;
        } else if let Some(rest) = line.strip_prefix("Write Stall (count): ") {
            self.stalls_from_8_1(rest)?;
        }
        Ok(())
    }

    fn database(&mut self, line: &str) -> Read<()> {
        if let Some(rest) = line.strip_prefix("Uptime(secs): ") {
            self.take_uptime(rest)?;
        } else if let Some(rest) = line.strip_prefix("Cumulative writes: ") {
            self.writes(rest)?;
        } else if let Some(rest) = line.strip_prefix("Cumulative stall: ") {
            self.stall_time(rest)?;
        } else if let Some(rest) = line.strip_prefix("Write Stall (count): ") {
            self.stalls_from_8_1(rest)?;
        }
        Ok(())
    }

    /// `3.1 total, 2.1 interval`
    fn take_uptime(&mut self, rest: &str) -> Read<()> {
        let total = rest.split(' ').next().unwrap_or_default();
        let uptime = Rounded::parse(total).ok_or_else(|| format!("`{total}` is no number of seconds"))?;
        self.current.uptime_s = Some(uptime.value);
        self.uptime = Some(uptime.not_negative());
        Ok(())
    }

    /// `0.17 GB write, 67.11 MB/s write, 0.16 GB read, 62.42 MB/s read, 2.2 seconds`
    fn compaction(&mut self, rest: &str) -> Read<()> {
        let parts = parts(rest)?;
        let total = |what: &str| parts.iter().find(|part| part.after == what && !part.per_s);
        let rate = |what: &str| parts.iter().find(|part| part.after == what && part.per_s);
        for (what, field) in [
            ("write", &mut self.current.compaction_write_bytes),
            ("read", &mut self.current.compaction_read_bytes),
        ] {
            let total = total(what).ok_or_else(|| format!("how much it {what}s is missing"))?;
            let by_rate = rate(what).zip(self.uptime).map(|(rate, uptime)| rate.number.over(uptime));
            add(field, Some(whole(total.number.finer(by_rate).value)));
        }
        if let Some(rate) = rate("write") {
            add_seconds(&mut self.current.compaction_write_bytes_per_s, Some(rate.number.value));
        }
        if let Some(seconds) = rest.rsplit(", ").next().and_then(|part| part.strip_suffix(" seconds"))
            && self.columns.iter().all(|column| column != "CompMergeCPU(sec)")
            && let Some(seconds) = Rounded::parse(seconds)
        {
            // Up to 5.18 the table has whole seconds, here they have a decimal.
            self.replace_whole_seconds(seconds.value);
        }
        Ok(())
    }

    fn replace_whole_seconds(&mut self, seconds: f64) {
        let of_families_before = self.current.compaction_s.unwrap_or(0.0) - self.last_sum_seconds;
        self.current.compaction_s = Some(of_families_before + seconds);
    }

    /// `23, total size: 0.0 GB, garbage size: 0.0 GB, space amp: 1.1`
    fn blob_files(&mut self, rest: &str) -> Read<()> {
        let mut parts = rest.split(", ");
        let files = parts.next().unwrap_or_default();
        let files: u64 = files.parse().map_err(|_| format!("`{files}` is no number of blob files"))?;
        add(&mut self.current.blob_files, Some(files));
        let Some(size) = parts.find_map(|part| part.strip_prefix("total size: ")) else { return Ok(()) };
        let (number, unit) = size.split_once(' ').unwrap_or((size, ""));
        let size = bytes(number, unit).ok_or_else(|| format!("`{size}` is no size of blob files"))?;
        let known = files == 0 || size.value > 0.0;
        if known {
            add(&mut self.current.blob_bytes, Some(whole(size.value)));
        }
        Ok(())
    }

    /// `51 level0_slowdown, 13 level0_slowdown_with_compaction, .., interval 138 total count`
    fn stalls_to_8_0(&mut self, rest: &str) -> Read<()> {
        for part in rest.split(", ").filter(|part| !part.starts_with("interval ")) {
            let (number, name) = part.split_once(' ').ok_or_else(|| format!("`{part}` is no cause"))?;
            self.stall(name, number)?;
        }
        Ok(())
    }

    /// `l0-file-count-limit-delays: 52, l0-file-count-limit-stops: 0, interval: 254 total count`
    fn stalls_from_8_1(&mut self, rest: &str) -> Read<()> {
        // 8.1 and 8.2 end this list without a newline too: the block cache follows on the same line.
        let rest = rest.split("Block cache ").next().unwrap_or(rest);
        for part in rest.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, number) = part.split_once(": ").ok_or_else(|| format!("`{part}` is no cause"))?;
            if name != "interval" {
                self.stall(name, number)?;
            }
        }
        Ok(())
    }

    fn stall(&mut self, name: &str, number: &str) -> Read<()> {
        let number: u64 = number.parse().map_err(|_| format!("`{number}` is no number of stalls"))?;
        let count = self.current.stalls.entry(name.to_owned()).or_insert(0);
        *count = count.saturating_add(number);
        Ok(())
    }

    /// `60K writes, 60K keys, 60K commit groups, 1.0 writes per commit group, ingest: 0.02 GB, 9.63 MB/s`
    fn writes(&mut self, rest: &str) -> Read<()> {
        let number = rest.split(' ').next().unwrap_or_default();
        self.current.writes =
            Some(count(number).ok_or_else(|| format!("`{number}` is no number of writes"))?);
        let Some((_, ingest)) = rest.split_once("ingest: ") else { return Ok(()) };
        let parts = parts(ingest)?;
        let total =
            parts.iter().find(|part| !part.per_s).ok_or("the size of what was ingested is missing")?;
        let by_rate = parts
            .iter()
            .find(|part| part.per_s)
            .zip(self.uptime)
            .map(|(rate, uptime)| rate.number.over(uptime));
        self.current.ingest_bytes = Some(whole(total.number.finer(by_rate).value));
        Ok(())
    }

    /// `00:00:1.289 H:M:S, 50.2 percent`
    fn stall_time(&mut self, rest: &str) -> Read<()> {
        let (time, percent) = rest.split_once(" H:M:S, ").ok_or("`H:M:S` is missing")?;
        let seconds = time.split(':').try_fold(0.0, |seconds, part| {
            Some(seconds * 60.0 + part.parse::<f64>().ok().filter(|part| *part >= 0.0)?)
        });
        self.current.stall_s = Some(seconds.ok_or_else(|| format!("`{time}` is no time"))?);
        let percent = percent.trim_end_matches(" percent");
        let percent =
            Rounded::parse(percent).ok_or_else(|| format!("`{percent}` is no number of percent"))?;
        self.current.stall_percent = Some(percent.value);
        Ok(())
    }
}

/// `67.11 MB/s write`, in bytes.
struct Part<'a> {
    number: Rounded,
    per_s: bool,
    after: &'a str,
}

impl<'a> Part<'a> {
    /// None where it is not of bytes.
    fn parse(text: &'a str) -> Option<Read<Part<'a>>> {
        let (number, rest) = text.split_once(' ')?;
        let (unit, after) = rest.split_once(' ').unwrap_or((rest, ""));
        let (unit, per_s) = unit.strip_suffix("/s").map_or((unit, false), |unit| (unit, true));
        crate::number::bytes_in(unit)?;
        let number = bytes(number, unit).ok_or_else(|| format!("`{text}` has no number"));
        Some(number.map(|number| Part { number, per_s, after }))
    }
}

/// The parts of a line that are bytes: `0.17 GB write`, `67.11 MB/s write`. Others are passed over.
fn parts(rest: &str) -> Read<Vec<Part<'_>>> {
    rest.split(", ").filter_map(Part::parse).collect()
}

fn add(field: &mut Option<u64>, value: Option<u64>) {
    if let Some(value) = value {
        *field = Some(field.unwrap_or(0).saturating_add(value));
    }
}

fn add_seconds(field: &mut Option<f64>, value: Option<f64>) {
    if let Some(value) = value {
        *field = Some(field.unwrap_or(0.0) + value);
    }
}

/// ` Sum     48/0   12.04 MB   0.0 ..`: one cell more than columns, since sizes are two.
fn level_row(columns: &[String], cells: &[&str]) -> Read<LevelRow> {
    if cells.len() != columns.len() + 1 {
        return Err(format!(
            "a row of {} columns has {} values",
            columns.len(),
            cells.len().saturating_sub(1)
        ));
    }
    let mut row = LevelRow { level: cells[0].to_owned(), ..LevelRow::default() };
    let mut cells = cells.iter().skip(1).copied();
    for column in columns.iter().skip(1) {
        let cell = cells.next().unwrap_or_default();
        let wrong = || format!("`{cell}` in column {column} is no number");
        let real = || Rounded::parse(cell).map(|it| Some(it.value)).ok_or_else(wrong);
        let gigabytes = || bytes(cell, "GB").map(|it| Some(whole(it.value))).ok_or_else(wrong);
        let counted = || count(cell).map(Some).ok_or_else(wrong);
        match column.as_str() {
            "Files" => {
                let files = cell.split('/').next().unwrap_or_default();
                row.files = Some(files.parse().map_err(|_| wrong())?);
            }
            "Size" => {
                let unit = cells.next().unwrap_or_default();
                row.bytes = Some(whole(bytes(cell, unit).ok_or_else(wrong)?.value));
            }
            "Score" => row.score = real()?,
            "Read(GB)" => row.read_bytes = gigabytes()?,
            "Write(GB)" => row.write_bytes = gigabytes()?,
            "W-Amp" => row.write_amplification = real()?,
            "Comp(sec)" => row.compaction_s = real()?,
            "CompMergeCPU(sec)" => row.compaction_cpu_s = real()?,
            "Comp(cnt)" => row.compactions = counted()?,
            "KeyIn" => row.keys_in = counted()?,
            "KeyDrop" => row.keys_dropped = counted()?,
            "Rblob(GB)" => row.blob_read_bytes = gigabytes()?,
            "Wblob(GB)" => row.blob_write_bytes = gigabytes()?,
            _ => {}
        }
    }
    Ok(row)
}
