//! The arguments of `engine`, and of what builds from source.

use super::duration;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct Engine {
    #[command(subcommand)]
    pub action: EngineAction,
}

/// How sources become a build.
#[derive(Debug, Clone, Default, Args)]
pub struct Recipe {
    /// A recipe, or a variant like `lto`; may be given several times [default: the first recipe that fits the sources]
    #[arg(long = "recipe", value_name = "NAME")]
    pub names: Vec<String>,
    /// A setting; may be given several times: compiler=clang, optimisation=-O3, lto=yes, frame-pointers=yes, debug-info=apart, pgo=yes,
    /// allocator=jemalloc, flags=-march=native, options=--with-icu, ccache=no
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// A build that takes longer is ended [default: 4h]
    #[arg(long = "build-timeout", value_parser = duration, value_name = "TIME")]
    pub timeout: Option<Duration>,
}

impl Recipe {
    pub fn is_given(&self) -> bool {
        !self.names.is_empty() || !self.set.is_empty() || self.timeout.is_some()
    }
}

const BUILD_EXAMPLES: &str = "\
Examples:
  dbdyno engine build postgres --git ~/postgres --ref REL_17_STABLE --as pg17
  dbdyno engine build postgres --git ~/postgres --ref REL_17_STABLE --recipe lto --as pg17-lto
  dbdyno engine build rocksdb --source ~/rocksdb-9.3.1.tar.gz --set compiler=clang --as clang
  dbdyno compare postgres@pg17 postgres@pg17-lto --workload sysbench-32.quick";

const ADD_EXAMPLES: &str = "\
Examples:
  dbdyno engine add my-fix ~/rocksdb                            rocksdb@my-fix
  dbdyno engine add postgres@my-fix /opt/postgres               postgres@my-fix
  dbdyno engine add postgres --git ~/postgres                   postgres@git:REF, built when it is measured
  dbdyno engine add prod postgres://me@db.example:5432/bench    postgres@prod, a server that runs already
  dbdyno engine add local 'mysql://me@/bench?socket=/run/mysqld/mysqld.sock' --password-file ~/.bench";

#[derive(Debug, Subcommand)]
pub enum EngineAction {
    /// Local builds and available releases
    List {
        #[arg(long)]
        json: bool,
    },
    /// Fetch published builds
    Fetch {
        /// engine@version; may be given several times
        #[arg(required = true)]
        builds: Vec<String>,
    },
    /// Build a commit, a directory or an archive of sources, and register the build under a name
    #[command(after_help = BUILD_EXAMPLES)]
    Build {
        /// rocksdb, postgres, mariadb, ..
        engine: String,
        /// A git repository on this host; it is only read
        #[arg(long, value_name = "DIR", requires = "reference", conflicts_with = "source")]
        git: Option<PathBuf>,
        /// With --git: the commit, tag or branch
        #[arg(long = "ref", value_name = "REF", requires = "git")]
        reference: Option<String>,
        /// A directory with sources, or an archive that tar reads; it is copied
        #[arg(long, value_name = "PATH", required_unless_present = "git")]
        source: Option<PathBuf>,
        #[command(flatten)]
        recipe: Recipe,
        /// The name of the build [default: the first digits of the commit or checksum, and the variants]
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// How the builds of an engine are made from source: recipes, variants and settings
    Recipes {
        /// rocksdb, postgres, mariadb, ..
        engine: String,
        #[arg(long)]
        json: bool,
    },
    /// Register your own build, or a SQL server that is already running, under a name
    #[command(after_help = ADD_EXAMPLES)]
    Add {
        /// Its name: `my-fix` becomes rocksdb@my-fix, or with an address postgres@my-fix or mysql@my-fix; ENGINE@NAME names the engine too
        name: String,
        /// The library, a build directory that holds one, the install prefix of a server, or the address of one that runs
        #[arg(value_name = "PATH|ADDRESS", required_unless_present = "git")]
        path: Option<PathBuf>,
        /// The git repository of the engine NAME: subjects like postgres@git:REF are built from it, by --recipe and --set
        #[arg(long, value_name = "DIR", conflicts_with_all = ["path", "password_file", "insecure_login", "tls_ca"])]
        git: Option<PathBuf>,
        #[command(flatten)]
        recipe: Recipe,
        /// With an address: a file with the password on one line, readable only by you; the environment variable
        /// DBDYNO_PASSWORD_NAME takes precedence
        #[arg(long, value_name = "FILE")]
        password_file: Option<PathBuf>,
        /// With an address: send the password over a network as the server asks, in clear text too, although others may read it
        #[arg(long)]
        insecure_login: bool,
        /// With an address: speak TLS; the file has the certificates (PEM) of those who may have signed the server's
        #[arg(long, value_name = "FILE", conflicts_with = "insecure_login")]
        tls_ca: Option<PathBuf>,
    },
    /// Run a server of a build in a directory of its own, until Ctrl-C or the end of the input
    Start {
        /// engine@version or engine@version+config
        server: String,
        /// Memory that its configuration sizes its caches by
        #[arg(long, value_name = "SIZE", default_value = "1 GB")]
        memory: String,
        /// Listen on a free port of 127.0.0.1, too: every user of this host can log in then, as a superuser
        #[arg(long)]
        tcp: bool,
        /// How it is reached as one line of JSON, for a script
        #[arg(long)]
        json: bool,
    },
    /// What is known of a build: checksum, compiler, its own defaults
    Info {
        /// engine@version
        build: String,
        #[arg(long)]
        json: bool,
    },
}
