//! What may be set of a build: compiler, optimisation, link-time optimisation, frame pointers, debug info, allocator, and whether ccache may serve it.

use super::BuildError;
use super::pgo::{PARTIAL_TRAINING, Pgo, ProfileFormat};
use crate::engines::output_with;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The settings of a build, as `--set NAME=VALUE` has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    compiler: String,
    optimisation: String,
    lto: bool,
    frame_pointers: bool,
    debug_info: DebugInfo,
    /// What a build is trained on: a command, `yes` for that of the recipe; empty for a build that is not.
    pgo: String,
    /// `jemalloc`, `tcmalloc`; empty for that of the C library.
    allocator: String,
    /// Where code lies: 0 as the compiler puts it, others as [`LAYOUTS`] says.
    layout: usize,
    /// Further flags of the compiler.
    flags: String,
    /// Given to what configures the build.
    options: String,
    ccache: UseOfCcache,
}

/// Whether a build uses ccache, which changes how long it takes and nothing in what is built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UseOfCcache {
    /// If the host has it.
    #[default]
    IfThere,
    /// Not even if the host's compilers are links to it.
    No,
    /// A command of the user's calls compilers as it likes.
    AsTheCommandHasIt,
}

/// Where the debug info of a build is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DebugInfo {
    /// In the files themselves, as the compiler leaves it.
    #[default]
    In,
    /// In files beside them.
    Apart,
    /// None is made.
    No,
}

/// A compiler of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// `gcc`, `clang-16`
    pub name: String,
    /// The first line of what it says of its version.
    pub version: String,
    /// Whether it can be told that the training of a profile does not cover all that will be asked for; no clang can.
    pub takes_partial_training: bool,
}

/// The settings by name, with what each may be.
pub const SETTINGS: [(&str, &str); 11] = [
    ("compiler", "the C compiler: gcc (default), gcc-11, clang; the C++ compiler follows from it"),
    ("optimisation", "-O2 (default), -O3"),
    ("lto", "link-time optimisation: no (default), yes"),
    ("frame-pointers", "no (default), yes"),
    ("debug-info", "in (default): in the files; apart: in files beside them; no: none"),
    (
        "pgo",
        "profile-guided optimisation: no (default); yes: trained by the recipe's workload; else the command of another",
    ),
    ("allocator", "of servers: jemalloc, tcmalloc; default that of the C library"),
    ("layout", "0 (default) to 6: the same code elsewhere in the file"),
    ("flags", "further flags of the compiler: -march=native"),
    ("options", "passed to configure, meson, cmake or make"),
    ("ccache", "yes (default): used if the host has it; no. The build is the same"),
];

/// Ways to lay the same code out elsewhere: flags of the compiler, and flags of the linker. Builds of these differ in nothing that the sources say.
pub const LAYOUTS: [(&[&str], &str); 6] = [
    (&["-falign-functions=32"], ""),
    (&["-ffunction-sections"], "-Wl,--sort-section=name"),
    (&["-falign-functions=64"], ""),
    (&["-ffunction-sections"], "-Wl,--sort-section=alignment"),
    (&["-falign-functions=64", "-ffunction-sections"], "-Wl,--sort-section=name"),
    (&["-falign-functions=128", "-falign-loops=32"], ""),
];
/// Has the compiler write its flags into the file that it makes.
pub(super) const RECORD: &str = "-frecord-gcc-switches";

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            compiler: "gcc".to_owned(),
            optimisation: "-O2".to_owned(),
            lto: false,
            frame_pointers: false,
            debug_info: DebugInfo::default(),
            pgo: String::new(),
            allocator: String::new(),
            layout: 0,
            flags: String::new(),
            options: String::new(),
            ccache: UseOfCcache::default(),
        }
    }
}

impl Settings {
    /// # Errors
    /// There is no setting of this name, or it cannot have this value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), BuildError> {
        let is_yes = || match value {
            "yes" => Ok(true),
            "no" => Ok(false),
            _ => Err(BuildError::BadSetting {
                name: name.to_owned(),
                value: value.to_owned(),
                wanted: "yes or no",
            }),
        };
        let text = value.to_owned();
        match name {
            "compiler" => self.compiler = text,
            "optimisation" => self.optimisation = text,
            "lto" => self.lto = is_yes()?,
            "frame-pointers" => self.frame_pointers = is_yes()?,
            "debug-info" => {
                self.debug_info = match value {
                    "in" => DebugInfo::In,
                    "apart" => DebugInfo::Apart,
                    "no" => DebugInfo::No,
                    _ => {
                        return Err(BuildError::BadSetting {
                            name: name.to_owned(),
                            value: value.to_owned(),
                            wanted: "in, apart or no",
                        });
                    }
                }
            }
            "pgo" => self.pgo = if value == "no" { String::new() } else { text },
            "allocator" => self.allocator = text,
            "layout" => {
                let layout = value.parse::<usize>().ok().filter(|layout| *layout <= LAYOUTS.len());
                self.layout = layout.ok_or_else(|| BuildError::BadSetting {
                    name: name.to_owned(),
                    value: value.to_owned(),
                    wanted: "a number from 0 to 6",
                })?;
            }
            "flags" => self.flags = text,
            "options" => self.options = text,
            "ccache" => self.ccache = if is_yes()? { UseOfCcache::IfThere } else { UseOfCcache::No },
            _ => {
                return Err(BuildError::NoSuchSetting {
                    name: name.to_owned(),
                    known: SETTINGS.map(|(name, _)| name).join(", "),
                });
            }
        }
        Ok(())
    }

    /// The name of the C compiler.
    pub fn compiler(&self) -> &str {
        &self.compiler
    }

    /// Where its debug info is.
    pub fn debug_info(&self) -> DebugInfo {
        self.debug_info
    }

    pub fn ccache(&self) -> UseOfCcache {
        self.ccache
    }

    /// How a build is trained, if it is; `of_recipe` is the workload of the recipe.
    ///
    /// # Errors
    /// That of the recipe is wanted, and it has none.
    pub fn pgo(
        &self,
        recipe: &str,
        of_recipe: Option<&str>,
        compiler: &Compiler,
    ) -> Result<Option<Pgo>, BuildError> {
        let training = match self.pgo.as_str() {
            "" => return Ok(None),
            "yes" => of_recipe.ok_or_else(|| BuildError::NoTraining { recipe: recipe.to_owned() })?,
            command => command,
        };
        let format = if compiler.is_clang() {
            ProfileFormat::Clang { merge: compiler.tool("profdata") }
        } else if compiler.takes_partial_training {
            ProfileFormat::GccPartial
        } else {
            ProfileFormat::Gcc
        };
        Ok(Some(Pgo { training: training.to_owned(), format }))
    }

    /// Whether a library can have them.
    ///
    /// # Errors
    /// An allocator: what is loaded calls the functions of that name that the process had before.
    pub fn check_library(&self) -> Result<(), BuildError> {
        if self.allocator.is_empty() {
            return Ok(());
        }
        Err(BuildError::BadSetting {
            name: "allocator".to_owned(),
            value: self.allocator.clone(),
            wanted: "empty for a library, which has the allocator of the process that loads it",
        })
    }

    /// All that a build is known by, by name; what is empty is left out. Debug info in its usual place is left out, too: builds that were made when
    /// there was no other place for it stay known.
    pub fn all(&self) -> BTreeMap<String, String> {
        let yes_or_no = |value: bool| if value { "yes" } else { "no" };
        let layout = if self.layout == 0 { String::new() } else { self.layout.to_string() };
        let debug_info = match self.debug_info {
            DebugInfo::In => "",
            DebugInfo::Apart => "apart",
            DebugInfo::No => "no",
        };
        // ccache changes nothing in what is built.
        let ccache = "";
        let values = [
            self.compiler.as_str(),
            &self.optimisation,
            yes_or_no(self.lto),
            yes_or_no(self.frame_pointers),
            debug_info,
            &self.pgo,
            &self.allocator,
            &layout,
            &self.flags,
            &self.options,
            ccache,
        ];
        let all =
            SETTINGS.into_iter().map(|(name, _)| name).zip(values).filter(|(_, value)| !value.is_empty());
        all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Flags that all code should be compiled with.
    pub fn flags(&self, compiler: &Compiler) -> Vec<String> {
        let mut flags = vec![self.optimisation.clone()];
        if self.lto {
            // By as many processes as there are jobs; clang's is the one that links in parts.
            flags.push(if compiler.is_clang() { "-flto=thin" } else { "-flto=auto" }.to_owned());
        }
        if self.frame_pointers {
            flags.extend(["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"].map(str::to_owned));
        }
        flags.extend(
            self.laid_out()
                .map(|(flags, _)| *flags)
                .unwrap_or_default()
                .iter()
                .map(|flag| (*flag).to_owned()),
        );
        flags.extend(self.flags.split_whitespace().map(str::to_owned));
        flags
    }

    fn laid_out(&self) -> Option<&'static (&'static [&'static str], &'static str)> {
        LAYOUTS.get(self.layout.checked_sub(1)?)
    }

    /// What the commands of a recipe find in their environment.
    pub fn environment(&self, compiler: &Compiler) -> BTreeMap<String, String> {
        let debug_info = match self.debug_info {
            DebugInfo::In | DebugInfo::Apart => " -g",
            DebugInfo::No => "",
        };
        let flags = format!("{}{debug_info} {RECORD}", self.flags(compiler).join(" "));
        let mut link: Vec<String> = if self.lto { self.flags(compiler) } else { Vec::new() };
        link.extend(self.laid_out().map(|(_, flag)| (*flag).to_owned()).filter(|flag| !flag.is_empty()));
        if !self.allocator.is_empty() {
            // No code names it, so that the linker would leave it out.
            link.push(format!("-Wl,--push-state,--no-as-needed -l{} -Wl,--pop-state", self.allocator));
        }
        let mut environment = BTreeMap::from([
            ("CC", compiler.name.clone()),
            ("CXX", compiler.of_cxx()),
            ("CFLAGS", flags.clone()),
            ("CXXFLAGS", flags),
            ("LDFLAGS", link.join(" ")),
            ("optimisation", self.optimisation.clone()),
            ("options", self.options.clone()),
        ]);
        if self.lto {
            // Those of binutils do not read what the compiler leaves for the linker.
            for (variable, tool) in [("AR", "ar"), ("NM", "nm"), ("RANLIB", "ranlib")] {
                environment.insert(variable, compiler.tool(tool));
            }
        }
        environment.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// A program that prints its version and ends; far above what any machine needs.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

impl Compiler {
    /// A compiler of the search path; none if it is not there or does not say its version.
    pub fn found(name: &str) -> Option<Compiler> {
        let said = output_with(Path::new(name), &["--version"], ANSWER_TIMEOUT)?;
        let version = said.lines().next()?.trim().to_owned();
        let found = Compiler { name: name.to_owned(), version, takes_partial_training: false };
        let takes_partial_training = !found.is_clang() && found.takes(PARTIAL_TRAINING);
        Some(Compiler { takes_partial_training, ..found })
    }

    /// Whether it knows a flag: gcc refuses one that it does not, whatever it is to do. clang only warns of some.
    fn takes(&self, flag: &str) -> bool {
        output_with(Path::new(&self.name), &[flag, "-E", "-x", "c", "/dev/null"], ANSWER_TIMEOUT).is_some()
    }

    fn is_clang(&self) -> bool {
        self.in_directory().1.contains("clang")
    }

    /// The directory that it is named by, if any, and the name in it.
    fn in_directory(&self) -> (&str, &str) {
        self.name.split_at(self.name.rfind('/').map_or(0, |slash| slash + 1))
    }

    /// What is beside it under another name.
    fn beside(&self, part: &str, other: &str) -> String {
        let (directory, name) = self.in_directory();
        format!("{directory}{}", name.replacen(part, other, 1))
    }

    /// `g++-12` of `gcc-12`, `clang++` of `clang`.
    fn of_cxx(&self) -> String {
        if self.is_clang() { self.beside("clang", "clang++") } else { self.beside("gcc", "g++") }
    }

    /// `gcc-ar-12` of `gcc-12`, `llvm-ar` of `clang`.
    fn tool(&self, tool: &str) -> String {
        if self.is_clang() {
            self.beside("clang", &format!("llvm-{tool}"))
        } else {
            self.beside("gcc", &format!("gcc-{tool}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiler(name: &str) -> Compiler {
        Compiler { name: name.to_owned(), version: String::new(), takes_partial_training: false }
    }

    #[test]
    fn gcc_is_told_that_the_training_is_partial_if_it_can_be() {
        let mut settings = Settings::default();
        settings.set("pgo", "true").unwrap();
        let format = |name: &str, takes_partial_training| {
            let compiler = Compiler { takes_partial_training, ..compiler(name) };
            settings.pgo("recipe", None, &compiler).unwrap().unwrap().format
        };
        assert_eq!(format("gcc-12", true), ProfileFormat::GccPartial);
        assert_eq!(format("gcc-9", false), ProfileFormat::Gcc);
        assert!(matches!(format("clang", false), ProfileFormat::Clang { .. }));
    }

    #[test]
    fn a_compiler_is_asked_whether_it_knows_a_flag() {
        let Some(gcc) = Compiler::found("gcc") else {
            eprintln!("skipped: this host has no gcc");
            return;
        };
        assert!(gcc.takes("-fwrapv"));
        assert!(!gcc.takes("-fprofile-of-no-compiler"));
        assert_eq!(gcc.takes_partial_training, gcc.takes(PARTIAL_TRAINING));
    }

    #[test]
    fn settings_become_what_make_and_its_kind_read() {
        let mut settings = Settings::default();
        let plain = settings.environment(&compiler("gcc"));
        assert_eq!((plain["CC"].as_str(), plain["CXX"].as_str()), ("gcc", "g++"));
        assert!(plain["CFLAGS"].starts_with("-O2 -g") && !plain.contains_key("AR"), "{plain:?}");
        for (name, value) in [
            ("lto", "yes"),
            ("frame-pointers", "yes"),
            ("allocator", "jemalloc"),
            ("flags", "-march=native  -DX"),
            ("optimisation", "-O3"),
        ] {
            settings.set(name, value).unwrap();
        }
        let all = settings.environment(&compiler("gcc-12"));
        assert_eq!((all["CXX"].as_str(), all["AR"].as_str()), ("g++-12", "gcc-ar-12"));
        for part in ["-O3", "-flto=auto", "-fno-omit-frame-pointer", "-march=native -DX"] {
            assert!(all["CXXFLAGS"].contains(part), "{part}: {all:?}");
        }
        assert!(all["LDFLAGS"].contains("-flto=auto") && all["LDFLAGS"].contains("-ljemalloc"), "{all:?}");
        let clang = settings.environment(&compiler("clang-16"));
        assert_eq!((clang["CXX"].as_str(), clang["RANLIB"].as_str()), ("clang++-16", "llvm-ranlib-16"));
        assert!(clang["CFLAGS"].contains("-flto=thin"));
        let elsewhere = settings.environment(&compiler("/opt/gcc-15/bin/gcc"));
        assert_eq!(
            (elsewhere["CXX"].as_str(), elsewhere["AR"].as_str()),
            ("/opt/gcc-15/bin/g++", "/opt/gcc-15/bin/gcc-ar")
        );
    }

    #[test]
    fn a_layout_is_flags_of_compiler_and_linker() {
        let mut settings = Settings::default();
        settings.set("layout", "5").unwrap();
        let environment = settings.environment(&compiler("gcc"));
        assert!(
            environment["CFLAGS"].contains("-falign-functions=64 -ffunction-sections"),
            "{environment:?}"
        );
        assert_eq!(environment["LDFLAGS"], "-Wl,--sort-section=name");
        for value in ["7", "-1", "x"] {
            assert!(settings.set("layout", value).is_err(), "{value}");
        }
    }

    #[test]
    fn debug_info_is_made_unless_none_is_wanted() {
        for (value, makes_it) in [("in", true), ("apart", true), ("no", false)] {
            let mut settings = Settings::default();
            settings.set("debug-info", value).unwrap();
            let flags = settings.environment(&compiler("gcc"))["CFLAGS"].clone();
            assert_eq!(flags.split(' ').any(|flag| flag == "-g"), makes_it, "{value}: {flags}");
        }
        assert!(Settings::default().set("debug-info", "yes").is_err());
    }

    #[test]
    fn what_was_built_before_there_were_these_settings_stays_known() {
        let mut settings = Settings::default();
        let before = settings.all();
        for (name, value) in [("debug-info", "in"), ("ccache", "no")] {
            settings.set(name, value).unwrap();
        }
        assert_eq!(settings.ccache(), UseOfCcache::No);
        assert_eq!(settings.all(), before);
        settings.set("debug-info", "apart").unwrap();
        assert_eq!(settings.all()["debug-info"], "apart");
    }

    #[test]
    fn all_that_is_set_is_told() {
        let mut settings = Settings::default();
        settings.set("options", "--with-icu").unwrap();
        let all = settings.all();
        assert_eq!((all["options"].as_str(), all["lto"].as_str()), ("--with-icu", "no"));
        assert!(!all.contains_key("allocator"));
    }
}
