//! A request and an answer, free of any HTTP library, so that everything between the two can be tested without one.

use report::site::shell;
use std::sync::Arc;

/// What somebody asks.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub method: Method,
    /// Path and query, as they came.
    pub target: String,
    /// All `Host` headers.
    pub hosts: Vec<String>,
    /// The `Authorization` header.
    pub authorization: Option<String>,
    /// The `Cookie` headers.
    pub cookies: Vec<String>,
    /// The `Sec-Fetch-Site` header: whether a page of this site asks, or one of another.
    pub fetch_site: Option<String>,
    /// The `Sec-Fetch-Mode` header: whether what is asked for is to be looked at by itself, or is part of the page.
    pub fetch_mode: Option<String>,
}

/// Nothing but the two that change nothing is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Method {
    #[default]
    Get,
    Head,
    Other,
}

/// What is answered.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub kind: Kind,
    /// Besides those that every answer has.
    pub headers: Vec<(&'static str, String)>,
    pub body: Arc<[u8]>,
}

/// What the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A page, which runs its own script.
    Page,
    /// A file of this media type.
    File(&'static str),
    Nothing,
}

impl Kind {
    pub const TEXT: Kind = Kind::File("text/plain; charset=utf-8");
    pub const JSON: Kind = Kind::File("application/json");

    fn content_type(self) -> Option<&'static str> {
        match self {
            Kind::Page => Some("text/html; charset=utf-8"),
            Kind::File(media_type) => Some(media_type),
            Kind::Nothing => None,
        }
    }
}

impl Answer {
    /// A page.
    pub fn page(status: u16, html: String) -> Answer {
        Answer::new(status, Kind::Page, html)
    }

    /// Anything with a body.
    pub fn new(status: u16, kind: Kind, text: String) -> Answer {
        Answer { status, kind, headers: Vec::new(), body: text.into_bytes().into() }
    }

    /// Somewhere else.
    pub fn redirect(location: String) -> Answer {
        Answer::nothing(303).with("Location", location)
    }

    /// No body.
    pub fn nothing(status: u16) -> Answer {
        Answer { status, kind: Kind::Nothing, headers: Vec::new(), body: Vec::new().into() }
    }

    /// With a header more.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Answer {
        self.headers.push((name, value.into()));
        self
    }

    /// All headers but those that the HTTP library writes itself.
    pub fn all_headers(&self) -> Vec<(&'static str, String)> {
        let policy = match self.kind {
            Kind::Page => shell::policy(),
            Kind::File(_) | Kind::Nothing => shell::POLICY_OF_FILES.to_owned(),
        };
        let mut headers: Vec<(&'static str, String)> = vec![
            ("Content-Security-Policy", policy),
            ("X-Content-Type-Options", "nosniff".to_owned()),
            ("X-Frame-Options", "DENY".to_owned()),
            ("Referrer-Policy", "no-referrer".to_owned()),
            ("Cross-Origin-Resource-Policy", "same-origin".to_owned()),
            ("Cross-Origin-Opener-Policy", "same-origin".to_owned()),
            // Runs are named, gone on with and made while pages are open.
            ("Cache-Control", "private, no-store".to_owned()),
        ];
        headers.extend(self.kind.content_type().map(|kind| ("Content-Type", kind.to_owned())));
        headers.extend(self.headers.iter().cloned());
        headers
    }
}
