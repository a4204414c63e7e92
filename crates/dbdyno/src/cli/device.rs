//! The arguments of `device`.

use clap::{Args, Subcommand};
use model::loop_device::{FileSystem, parse_bandwidth, parse_latency};
use model::units::{Bytes, Micros};

#[derive(Debug, Args)]
pub struct Device {
    #[command(subcommand)]
    pub action: DeviceAction,
}

#[derive(Debug, Subcommand)]
pub enum DeviceAction {
    /// Mount a device that is slow on purpose, until Ctrl-C or the end of the input; needs root
    #[command(after_help = START_EXAMPLES)]
    Start(StartDevice),
}

#[derive(Debug, Args)]
pub struct StartDevice {
    /// Its size; the file below is sparse
    #[arg(long, value_name = "SIZE", default_value = "4 GB")]
    pub size: Bytes,
    /// What every read takes (2ms, 500us), from its arrival
    #[arg(long, value_name = "TIME", value_parser = parse_latency)]
    pub read_latency: Option<Micros>,
    /// What every write takes
    #[arg(long, value_name = "TIME", value_parser = parse_latency)]
    pub write_latency: Option<Micros>,
    /// What every flush takes, as an fsync needs one
    #[arg(long, value_name = "TIME", value_parser = parse_latency)]
    pub fsync_latency: Option<Micros>,
    /// Bytes per second of reads and writes together (100MB)
    #[arg(long, value_name = "SIZE", value_parser = parse_bandwidth)]
    pub bandwidth: Option<Bytes>,
    /// ext4, xfs or btrfs
    #[arg(long, value_name = "NAME", default_value = "ext4", value_parser = file_system)]
    pub file_system: FileSystem,
    /// Options of the mount, separated by commas; noatime holds beside them
    #[arg(long, value_name = "OPTIONS", default_value = "")]
    pub mount_options: String,
    /// What orders requests: none, mq-deadline, bfq [default: the kernel's]
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// Requests that may wait at a time [default: the kernel's]
    #[arg(long, value_name = "N")]
    pub nr_requests: Option<u32>,
    /// Where it is as one line of JSON, for a script
    #[arg(long)]
    pub json: bool,
}

fn file_system(text: &str) -> Result<FileSystem, &'static str> {
    text.parse().map_err(|_| "it can be ext4, xfs or btrfs")
}

const START_EXAMPLES: &str = "\
Examples:
  sudo dbdyno device start --read-latency 2ms --fsync-latency 5ms
  sudo dbdyno device start --size 20GB --bandwidth 200MB --file-system xfs

While it runs, a line on its input changes it, and is answered by `done` or by what is wrong:
  read-latency 5ms            also write-latency, fsync-latency, bandwidth; `none` takes it away
  read-error eio              all reads fail from now on; also write-error, fsync-error
  write-error enospc next 3   the next three writes find the device full
  read-error eio bytes 0..4096
  heal                        nothing fails any more";
