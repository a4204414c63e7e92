//! What a slow device can be told while it runs, as messages between two processes and as lines that people write.

use model::loop_device::{self, SlowDevice};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What a slow device is to do from now on: one line of JSON, to which one [`DeviceReply`] is the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceCommand {
    /// To be as slow as this.
    Slow(SlowDevice),
    /// To answer some requests with an error, beside those that it was told of before.
    Fail(Fault),
    /// To answer all requests again.
    Heal,
}

/// Which requests get an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    pub operation: Operation,
    pub error: DeviceError,
    /// So many, then no more; without end where absent.
    pub times: Option<u64>,
    /// Only those that touch these bytes of the device; all where absent.
    pub bytes: Option<Range<u64>>,
}

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Operation {
    Read,
    Write,
    Fsync,
}

/// What a request is answered with in place of what it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceError {
    /// The device is broken.
    Eio,
    /// The device is full, of writes only.
    Enospc,
}

/// What a slow device says: once when it can be used, then once for each command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceReply {
    Done,
    Refused(String),
}

/// What may be written, for errors and help.
pub const LINES: &str = "read-latency TIME, write-latency TIME, fsync-latency TIME, bandwidth SIZE (each also `none`), read-error eio, \
                         write-error eio|enospc, fsync-error eio (each also with `next N`, `bytes FROM..TO`), heal";

impl DeviceCommand {
    /// Reads a line of [`LINES`]; `slow` is what the device is told to be until now, of which a line changes one thing.
    ///
    /// # Errors
    /// What is not understood, as shown to the user.
    pub fn parse(line: &str, slow: SlowDevice) -> Result<DeviceCommand, String> {
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let rest = rest.trim();
        let latency = || if rest == "none" { Ok(None) } else { loop_device::parse_latency(rest).map(Some) };
        let slow = match word {
            "heal" if rest.is_empty() => return Ok(DeviceCommand::Heal),
            "read-error" => return Fault::parse(Operation::Read, rest).map(DeviceCommand::Fail),
            "write-error" => return Fault::parse(Operation::Write, rest).map(DeviceCommand::Fail),
            "fsync-error" => return Fault::parse(Operation::Fsync, rest).map(DeviceCommand::Fail),
            "read-latency" => SlowDevice { read_latency_us: latency()?, ..slow },
            "write-latency" => SlowDevice { write_latency_us: latency()?, ..slow },
            "fsync-latency" => SlowDevice { fsync_latency_us: latency()?, ..slow },
            "bandwidth" if rest == "none" => SlowDevice { bandwidth_bytes_per_s: None, ..slow },
            "bandwidth" => {
                SlowDevice { bandwidth_bytes_per_s: Some(loop_device::parse_bandwidth(rest)?), ..slow }
            }
            _ => return Err(format!("`{line}` is not a command of a slow device; write {LINES}")),
        };
        Ok(DeviceCommand::Slow(slow))
    }
}

impl Fault {
    /// Whether a request of this kind can end like this.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), &'static str> {
        match (self.operation, self.error) {
            (Operation::Read | Operation::Fsync, DeviceError::Enospc) => {
                Err("a full device refuses writes and nothing else: write `write-error enospc`")
            }
            (Operation::Fsync, DeviceError::Eio) if self.bytes.is_some() => {
                Err("an fsync is one of the whole device: leave out `bytes`")
            }
            _ if self.times == Some(0) || self.bytes.as_ref().is_some_and(Range::is_empty) => {
                Err("no request would fail: `next` is at least 1, and in `bytes FROM..TO` TO is above FROM")
            }
            _ => Ok(()),
        }
    }

    /// `eio next 3 bytes 0..4096`.
    fn parse(operation: Operation, text: &str) -> Result<Fault, String> {
        let wrong =
            || format!("`{text}` says of no error: write `eio` or `enospc`, then `next N`, `bytes FROM..TO`");
        let mut words = text.split_ascii_whitespace();
        let error = match words.next() {
            Some("eio") => DeviceError::Eio,
            Some("enospc") => DeviceError::Enospc,
            _ => return Err(wrong()),
        };
        let mut fault = Fault { operation, error, times: None, bytes: None };
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(wrong)?;
            match word {
                "next" => fault.times = Some(value.parse().map_err(|_| wrong())?),
                "bytes" => {
                    let (from, to) = value.split_once("..").ok_or_else(wrong)?;
                    fault.bytes = Some(from.parse().map_err(|_| wrong())?..to.parse().map_err(|_| wrong())?);
                }
                _ => return Err(wrong()),
            }
        }
        fault.check().map_err(str::to_owned)?;
        Ok(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::{Bytes, Micros};

    fn slow() -> SlowDevice {
        SlowDevice { read_latency_us: Some(Micros(2000)), ..SlowDevice::default() }
    }

    fn fails(
        operation: Operation,
        error: DeviceError,
        times: Option<u64>,
        bytes: Option<Range<u64>>,
    ) -> DeviceCommand {
        DeviceCommand::Fail(Fault { operation, error, times, bytes })
    }

    #[test]
    fn lines_are_read_and_change_one_thing() {
        let check = |line: &str, expected: DeviceCommand| {
            assert_eq!(DeviceCommand::parse(line, slow()), Ok(expected), "{line}");
        };
        check("heal", DeviceCommand::Heal);
        check(" read-latency none\n", DeviceCommand::Slow(SlowDevice::default()));
        check(
            "fsync-latency 5 ms",
            DeviceCommand::Slow(SlowDevice { fsync_latency_us: Some(Micros(5000)), ..slow() }),
        );
        check(
            "write-latency 1ms",
            DeviceCommand::Slow(SlowDevice { write_latency_us: Some(Micros(1000)), ..slow() }),
        );
        let bandwidth = Some(Bytes(100_000_000));
        check(
            "bandwidth 100 MB/s",
            DeviceCommand::Slow(SlowDevice { bandwidth_bytes_per_s: bandwidth, ..slow() }),
        );
        check("bandwidth none", DeviceCommand::Slow(slow()));
        check("read-error eio", fails(Operation::Read, DeviceError::Eio, None, None));
        check("write-error enospc next 3", fails(Operation::Write, DeviceError::Enospc, Some(3), None));
        check(
            "read-error eio bytes 0..4096 next 1",
            fails(Operation::Read, DeviceError::Eio, Some(1), Some(0..4096)),
        );
        check("fsync-error eio", fails(Operation::Fsync, DeviceError::Eio, None, None));
    }

    #[test]
    fn lines_that_cannot_be_meant_say_what_can() {
        let check = |line: &str, expected: &str| {
            let error = DeviceCommand::parse(line, slow()).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        };
        check("", "heal");
        check("heal all", "read-error eio");
        check("read-latency", "is not a time");
        check("read-latency 9 s", "is more than 5 s");
        check("bandwidth slow", "is not a bandwidth");
        check("read-error", "write `eio`");
        check("read-error enospc", "refuses writes and nothing else");
        check("write-error eio next", "next N");
        check("write-error eio next 0", "no request would fail");
        check("write-error eio bytes 9..9", "no request would fail");
        check("write-error eio bytes 9", "FROM..TO");
        check("fsync-error eio bytes 0..9", "leave out `bytes`");
    }

    #[test]
    fn messages_are_lines_of_json() {
        for command in [
            DeviceCommand::Slow(slow()),
            DeviceCommand::Heal,
            fails(Operation::Write, DeviceError::Enospc, Some(3), Some(0..9)),
        ] {
            let line = serde_json::to_string(&command).unwrap();
            assert_eq!(serde_json::from_str::<DeviceCommand>(&line).unwrap(), command, "{line}");
        }
        assert_eq!(serde_json::to_string(&DeviceReply::Done).unwrap(), "\"done\"");
    }
}
