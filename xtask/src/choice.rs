//! What a user names of the parts that a chore has.

use anyhow::ensure;

/// The parts of these names, in their own order; all of them if nothing is named. `what` is what one is called.
pub fn chosen<T>(
    all: &'static [T],
    name_of: impl Fn(&T) -> &'static str,
    what: &str,
    wanted: &[String],
) -> anyhow::Result<Vec<&'static T>> {
    let known: Vec<&str> = all.iter().map(&name_of).collect();
    for name in wanted {
        let hint = model::names::hint(name, known.iter().copied());
        ensure!(
            known.contains(&name.as_str()),
            "unknown {what} `{name}`{hint}; there are {}",
            known.join(", ")
        );
    }
    let is_wanted = |part: &&T| wanted.is_empty() || wanted.iter().any(|name| name == name_of(part));
    Ok(all.iter().filter(is_wanted).collect())
}
