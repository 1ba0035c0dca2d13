//! Builds the static binary of a target, so that the same sources and compilers give the same bytes in any directory.
//! Chooses a C compiler that uses musl's headers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A platform that gets a binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform {
    /// Rust's name.
    pub target: &'static str,
    /// Debian's name of the processor.
    pub debian: &'static str,
    /// The name for `zig cc`.
    zig: &'static str,
    /// The processor's name in `std::env::consts::ARCH`.
    processor: &'static str,
}

/// All of them; the first is built by default.
pub const PLATFORMS: [Platform; 2] = [
    Platform {
        target: "x86_64-unknown-linux-musl",
        debian: "amd64",
        zig: "x86_64-linux-musl",
        processor: "x86_64",
    },
    Platform {
        target: "aarch64-unknown-linux-musl",
        debian: "arm64",
        zig: "aarch64-linux-musl",
        processor: "aarch64",
    },
];

impl Platform {
    /// Whether its binaries run on this machine.
    pub fn runs_here(self) -> bool {
        self.processor == std::env::consts::ARCH
    }

    /// Part of the names of cargo's and cc's variables.
    fn variable(self) -> String {
        self.target.replace('-', "_")
    }
}

/// A C compiler that uses musl's headers, for SQLite and ring.
pub enum CCompiler {
    /// A program, such as Debian's musl-gcc.
    Program(String),
    /// `zig cc`, from the package ziglang of PyPI; it also serves other processors.
    Zig(Vec<String>),
}

impl CCompiler {
    /// `CC_<target>` if it is set, otherwise musl-gcc, otherwise zig.
    ///
    /// # Errors
    /// There is none.
    pub fn find(platform: Platform) -> Result<CCompiler, String> {
        let variable = format!("CC_{}", platform.variable());
        if let Ok(program) = std::env::var(&variable) {
            return Ok(CCompiler::Program(program));
        }
        if platform.runs_here() && works(&["musl-gcc", "--version"]) {
            return Ok(CCompiler::Program("musl-gcc".to_owned()));
        }
        let zig: [&[&str]; 2] = [&["zig"], &["python3", "-m", "ziglang"]];
        for words in zig {
            if works(&[words, &["version"]].concat()) {
                return Ok(CCompiler::Zig(words.iter().map(|&word| word.to_owned()).collect()));
            }
        }
        Err(format!(
            "no C compiler for {}: install Debian's musl-tools (for this machine's processor), or zig (pip install \
             ziglang), or set {variable}",
            platform.target
        ))
    }
}

fn works(words: &[&str]) -> bool {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Builds the binary in `directory` and returns its path.
///
/// # Errors
/// The target or a compiler is missing, or the build fails.
pub fn binary(platform: Platform, directory: &Path) -> Result<PathBuf, String> {
    let compiler = CCompiler::find(platform)?;
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let variable = platform.variable();
    let mut cargo = Command::new(crate::cargo());
    cargo.current_dir(crate::root()).stdin(Stdio::null());
    cargo.args(["build", "--profile", "dist", "--locked", "--quiet", "--package", "pgmeter"]);
    cargo.args(["--target", platform.target, "--target-dir"]).arg(directory);
    let paths = replaced_paths(directory)?;
    let rust_flags = paths.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}"));
    let mut rust_flags: Vec<String> = rust_flags.collect();
    // A backtrace of a static binary needs no names: they are a quarter of its size. `strip` in the profile has no effect
    // on a package with an opt-level of its own.
    rust_flags.push("-Cstrip=symbols".to_owned());
    // It comes with Rust and links for all processors. Equal functions and compact relocations save 1.6 MB.
    cargo.env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), "rust-lld");
    let linker_flags =
        ["-Clinker-flavor=ld.lld", "-Clink-arg=--icf=all", "-Clink-arg=--pack-dyn-relocs=relr"];
    rust_flags.extend(linker_flags.map(str::to_owned));
    let c_flags = paths.iter().map(|(from, to)| format!("-ffile-prefix-map={from}={to}"));
    let mut c_flags: Vec<String> = c_flags.collect();
    match compiler {
        CCompiler::Program(program) => {
            cargo.env(format!("CC_{variable}"), program);
        }
        CCompiler::Zig(words) => {
            c_flags.push("-fno-sanitize=undefined".to_owned());
            for (name, tool) in [("CC", "cc"), ("AR", "ar")] {
                let program = zig_wrapper(&words, tool, platform, directory)?;
                cargo.env(format!("{name}_{variable}"), program);
            }
        }
    }
    cargo.env("CARGO_ENCODED_RUSTFLAGS", rust_flags.join("\u{1f}"));
    cargo.env(format!("CFLAGS_{variable}"), c_flags.join(" "));
    let output = cargo.output().map_err(|error| format!("cargo did not start: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(directory.join(platform.target).join("dist/pgmeter"))
}

/// Directories whose names must not be in the binary, and what stands for them.
fn replaced_paths(directory: &Path) -> Result<[(String, &'static str); 3], String> {
    let home = std::env::var("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|_| std::env::var("HOME").map(|home| Path::new(&home).join(".cargo")));
    let home = home.map_err(|_| "neither CARGO_HOME nor HOME is set".to_owned())?;
    let text = |path: &Path| path.display().to_string();
    // The last one that fits is used: the target directory may be in the sources.
    Ok([(text(crate::root()), "/pgmeter"), (text(&home), "/cargo"), (text(directory), "/target")])
}

/// A program that calls zig as a compiler for the platform. The build scripts name targets as Rust does, which zig does
/// not understand.
fn zig_wrapper(
    words: &[String],
    tool: &str,
    platform: Platform,
    directory: &Path,
) -> Result<PathBuf, String> {
    let path = directory.join(format!("zig-{tool}-{}", platform.target));
    let zig = words.join(" ");
    let script = match tool {
        "cc" => format!(
            "#!/bin/sh\nfor word do\n    shift\n    case $word in --target=*) ;; *) set -- \"$@\" \"$word\" ;; esac\ndone\n\
             exec {zig} cc -target {} \"$@\"\n",
            platform.zig
        ),
        tool => format!("#!/bin/sh\nexec {zig} {tool} \"$@\"\n"),
    };
    let written =
        fs::write(&path, script).and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
    written.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}
