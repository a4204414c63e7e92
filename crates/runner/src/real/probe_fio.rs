//! Whether fio knows the options of a job, before anything is measured: it reads them and does nothing.

use crate::process::tool::{self, Tool, ToolError};
use model::config::Options;
use model::units::Nanos;
use model::workload::fio;
use std::collections::BTreeMap;
use std::path::Path;

/// It reads a command line and ends.
const TIMEOUT: Nanos = Nanos::from_secs(30);

/// Tries options of a job in a scratch directory.
///
/// # Errors
/// fio does not know one, or takes its value for none; it says which.
pub fn try_options(
    program: &Path,
    options: &Options,
    directory: &Path,
    interrupted: &dyn Fn() -> bool,
) -> Result<(), ToolError> {
    let mut arguments = vec!["--parse-only".to_owned(), "--name=job".to_owned()];
    arguments.extend(fio::arguments(options));
    let output = directory.join("fio.txt");
    let tool = Tool {
        program,
        arguments: &arguments,
        directory,
        output: &output,
        timeout: TIMEOUT,
        without: &[],
        with: &BTreeMap::new(),
    };
    tool::run(&tool, |_| Ok(()), &mut || interrupted()).map(|_| ())
}
