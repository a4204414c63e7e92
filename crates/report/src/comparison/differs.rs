//! What differs between candidate and base beside the code: each can be the reason.

use crate::document::Kind::{Name, Prose, Word};
use crate::document::Table;
use findings::differs::{Difference, DifferenceKind};
use model::figures::or_none;

/// What differs besides the code, without what is named in [`differing_lists`]; absent where nothing does.
pub(crate) fn differs(differences: &[Difference]) -> Option<Table> {
    let value = |value: &Option<String>| or_none(value.as_deref(), str::to_owned);
    let table = Table::by_columns(
        differences.iter().filter(|one| !is_listed(one)),
        &[
            ("differs besides the code", Name, &|one| one.what.clone()),
            ("base", Prose, &|one| value(&one.base)),
            ("candidate", Prose, &|one| value(&one.candidate)),
            ("option is", Word, &|one| remark(one.kind).to_owned()),
        ],
    );
    table.unless_empty()
}

fn remark(kind: DifferenceKind) -> &'static str {
    match kind {
        DifferenceKind::Planted => "a test",
        DifferenceKind::OptionInEffect => "set",
        DifferenceKind::DefaultInEffect => "in effect",
        DifferenceKind::DefaultPinned => "pinned",
        DifferenceKind::Unknown => "unknown",
        DifferenceKind::Elsewhere
        | DifferenceKind::Config
        | DifferenceKind::OptionOfOneRelease
        | DifferenceKind::Compiler
        | DifferenceKind::Library
        | DifferenceKind::Fact
        | DifferenceKind::MissingSymbol => "",
    }
}

/// Releases years apart have dozens of new options; the first ones show of what kind they are.
const MOST_LISTED: usize = 8;

/// Things that one side only has, as sentences: a table of dozens of new options would hide what changed.
pub(crate) fn differing_lists(differences: &[Difference], base: &str, candidate: &str) -> Vec<String> {
    let mut lists = Vec::new();
    for (kind, what) in [
        (DifferenceKind::OptionOfOneRelease, "Options of"),
        (DifferenceKind::MissingSymbol, "C functions of"),
    ] {
        let names = |present: fn(&Difference) -> bool| -> Vec<String> {
            let of_kind = differences.iter().filter(|one| one.kind == kind && present(one));
            of_kind.map(|one| one.what.clone()).collect()
        };
        for (owner, names) in
            [(base, names(|one| one.candidate.is_none())), (candidate, names(|one| one.base.is_none()))]
        {
            if !names.is_empty() {
                let shown = names[..names.len().min(MOST_LISTED)].join(", ");
                let more = match names.len().saturating_sub(MOST_LISTED) {
                    0 => String::new(),
                    more => format!(" and {more} more, all in --format json"),
                };
                lists.push(format!("{what} {owner} only ({}): {shown}{more}.", names.len()));
            }
        }
    }
    lists
}

fn is_listed(one: &Difference) -> bool {
    matches!(one.kind, DifferenceKind::OptionOfOneRelease | DifferenceKind::MissingSymbol)
}
