//! A network namespace with a cable to it, for cases that need a network of their own.

use anyhow::{Context, ensure};
use std::fmt::Display;
use std::process::Command;

/// Two ends of a cable: one here, one in a namespace. Both are removed with this.
pub struct Cable {
    pub namespace: String,
    end: String,
}

/// Network namespaces cannot be made here.
#[derive(Debug)]
pub struct NoNamespace(String);

impl Display for NoNamespace {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(out)
    }
}

impl std::error::Error for NoNamespace {}

impl Cable {
    /// The namespace is named after `name`; the addresses are those of the two ends.
    ///
    /// # Errors
    /// [`NoNamespace`] if this host cannot have one.
    pub fn lay(name: &str, here: impl Display, there: impl Display) -> anyhow::Result<Cable> {
        let id = std::process::id() % 100_000;
        let namespace = format!("dbdyno-{name}-{id}");
        ip(&["netns", "add", &namespace]).map_err(|error| NoNamespace(format!("{error:#}")))?;
        // From here on an error removes what there is. Names of devices have at most fifteen letters.
        let cable = Cable { namespace, end: format!("{name:.4}h{id}").replace('-', "") };
        let (namespace, end, far) =
            (&cable.namespace, &cable.end, format!("{name:.4}t{id}").replace('-', ""));
        ip(&["link", "add", end, "type", "veth", "peer", "name", &far, "netns", namespace])?;
        ip(&["addr", "add", &format!("{here}/30"), "dev", end])?;
        ip(&["link", "set", end, "up"])?;
        ip(&["-n", namespace, "addr", "add", &format!("{there}/30"), "dev", &far])?;
        for device in ["lo", &far] {
            ip(&["-n", namespace, "link", "set", device, "up"])?;
        }
        Ok(cable)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        // The link goes with either of them; what was not made is not there.
        let _ = ip(&["link", "delete", &self.end]);
        let _ = ip(&["netns", "delete", &self.namespace]);
    }
}

/// Runs `ip` of iproute2.
pub fn ip(arguments: &[&str]) -> anyhow::Result<()> {
    let ended = Command::new("ip").args(arguments).output().context("failed to start `ip`")?;
    let said = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.success(), "`ip {}`: {}", arguments.join(" "), said.trim());
    Ok(())
}
