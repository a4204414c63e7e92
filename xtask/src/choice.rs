//! What a user names of the parts that a chore has.

use anyhow::ensure;

/// Those of these names, in their own order; all of them if nothing is named. `what` is what one is called.
pub fn chosen<'a, T>(
    all: &'a [T],
    name_of: impl Fn(&T) -> String,
    what: &str,
    wanted: &[String],
) -> anyhow::Result<Vec<&'a T>> {
    let known: Vec<String> = all.iter().map(&name_of).collect();
    for name in wanted {
        let hint = model::names::hint(name, known.iter().map(String::as_str));
        ensure!(known.contains(name), "unknown {what} `{name}`{hint}; there are {}", known.join(", "));
    }
    let is_wanted = |one: &&T| wanted.is_empty() || wanted.contains(&name_of(one));
    Ok(all.iter().filter(is_wanted).collect())
}
