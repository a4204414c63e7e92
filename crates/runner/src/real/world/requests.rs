//! What a request to a worker is, for messages and for the account of pauses.

use model::wire::{EngineText, Library, Request};

/// Opening replays the log, closing flushes, settling compacts: the engine's time, not the harness's.
pub(super) fn is_the_engines_work(request: &Request) -> bool {
    matches!(request, Request::Open { .. } | Request::Close | Request::Settle { .. })
}

pub(super) fn request_name(request: &Request) -> &'static str {
    match request {
        Request::Load { library: Library::Server { .. } } => "connecting to its server",
        Request::Load { .. } => "loading its library",
        Request::Open { .. } => "opening the database",
        Request::BulkLoad { .. } => "writing the image",
        Request::Scan { .. } => "reading the image once",
        Request::Prepare(_) => "preparing a step",
        Request::RunBlock { .. } => "running a block",
        Request::FinishStep => "finishing a step",
        Request::Settle { .. } => "settling",
        Request::ClaimTables { .. } => "making room for its tables",
        Request::DropTables => "dropping its tables",
        Request::WatchOthers { .. } => "looking for other clients",
        Request::ReadShape => "reading the tree's shape",
        Request::ReadText { what: EngineText::Settings } => "reading the server's settings",
        Request::ReadText { .. } => "reading the engine's statistics",
        Request::ExplainStatements(_) => "explaining the statements of a step",
        Request::AbandonStep => "giving up a step",
        Request::Close => "closing the database",
        Request::Exit => "exiting",
    }
}
