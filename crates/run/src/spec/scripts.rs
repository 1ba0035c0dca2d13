//! The scripts of a run: their texts and parsed programs.
//! The crate `script` parses them.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use engine::Protocol;
use script::{
    CommandKind, DefinedVariables, Dialect, PARAMETERS_MAX, ParseError, Program, Symbols, UndefinedVariable,
};
use workload::{Script, Workload};

use crate::error::RunError;
use crate::spec::copy_files::{CopyFiles, Digest};
use crate::spec::surface::Surface;
use crate::spec::{ScriptSource, ScriptSpec};

/// Limit of a script's length; a device or a pipe may never end.
const SCRIPT_LEN_MAX: u64 = 16 << 20;

/// Reads a script.
///
/// # Errors
/// It cannot be read, or is too long.
pub fn read_script(from: impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    from.take(SCRIPT_LEN_MAX + 1).read_to_end(&mut text)?;
    if text.len() as u64 > SCRIPT_LEN_MAX {
        return Err(io::Error::other(format!("it is longer than the limit of {} MiB", SCRIPT_LEN_MAX >> 20)));
    }
    Ok(text)
}

/// The text of a script.
#[derive(Clone, Debug)]
pub struct ScriptText {
    /// Name in reports and messages.
    pub name: String,
    /// Name in pgbench's report.
    pub description: String,
    /// Text as written.
    pub text: Vec<u8>,
    /// Weight among the scripts.
    pub weight: u32,
    /// Whether it is built into pgmeter.
    pub builtin: bool,
    /// Whether it belongs to the workload and needs its tables.
    pub is_of_workload: bool,
    /// Start of the command of a built-in script that locks one of `scale` rows.
    pub contended: Option<&'static str>,
    /// The directory of the files that it names.
    pub folder: PathBuf,
}

impl ScriptText {
    /// Reads the text of a script.
    fn of(spec: &ScriptSpec, workload: &dyn Workload) -> Result<Self, RunError> {
        let weight = spec.weight;
        Ok(match &spec.source {
            ScriptSource::OfWorkload(prefix) => {
                Self { weight, ..Self::of_workload(workload.script(prefix)?, workload) }
            }
            ScriptSource::File(path) => Self::of_file(path.display().to_string(), read_file(path)?, weight),
            ScriptSource::Text { name, text } => {
                Self::of_file(name.clone(), text.clone().into_bytes(), weight)
            }
        })
    }

    /// A script of a workload, with its weight there.
    pub fn of_workload(script: &Script, workload: &dyn Workload) -> Self {
        let file = workload.files().iter().find(|(_, text)| **text == *script.text);
        Self {
            name: script.name.clone().into_owned(),
            description: script.description.clone().into_owned(),
            text: script.text.as_bytes().to_owned(),
            weight: script.weight,
            builtin: workload.files().is_empty(),
            is_of_workload: true,
            contended: script.contended,
            folder: file.and_then(|(path, _)| folder_of(path)).unwrap_or_default(),
        }
    }

    /// A script of the user.
    pub fn of_file(name: String, text: Vec<u8>, weight: u32) -> Self {
        let description = name.clone();
        let folder = folder_of(Path::new(&name)).unwrap_or_default();
        Self {
            name,
            description,
            text,
            weight,
            builtin: false,
            is_of_workload: false,
            contended: None,
            folder,
        }
    }
}

/// The directory of a file.
fn folder_of(path: &Path) -> Option<PathBuf> {
    path.parent().map(Path::to_owned)
}

fn read_file(path: &Path) -> Result<Vec<u8>, RunError> {
    let unreadable = |error| match config::InputInterrupted::is_cause(&error) {
        true => RunError::Interrupted("interrupted before the script was read".into()),
        false => RunError::System { what: format!("read script \"{}\"", path.display()), error },
    };
    if path == Path::new("-") {
        return config::open_stdin().and_then(read_script).map_err(unreadable);
    }
    let opened = config::open_input(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => missing(path),
        _ => error,
    });
    opened.and_then(read_script).map_err(unreadable)
}

/// Reads standard input if it is the script's source: for runs that read the text several times.
///
/// # Errors
/// It cannot be read, or is not UTF-8.
pub fn read_standard_input(spec: ScriptSpec) -> Result<ScriptSpec, RunError> {
    let ScriptSource::File(path) = &spec.source else { return Ok(spec) };
    if path != Path::new("-") {
        return Ok(spec);
    }
    let Ok(text) = String::from_utf8(read_file(path)?) else {
        return Err(RunError::Usage("the script on standard input is not UTF-8: convert it".to_owned()));
    };
    Ok(ScriptSpec { source: ScriptSource::Text { name: "-".to_owned(), text }, ..spec })
}

/// Files that are compared with the name of a missing script; a directory may have millions.
const NEIGHBOURS_MAX: usize = 10_000;

/// The error for a script that does not exist: where it was looked for, and the script there with the most similar name.
fn missing(path: &Path) -> io::Error {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let absolute = std::path::absolute(folder.unwrap_or(Path::new(".")));
    let shown = absolute.as_deref().ok().or(folder).unwrap_or(Path::new(".")).display();
    let text = match std::fs::read_dir(folder.unwrap_or(Path::new("."))) {
        Err(_) => format!("No such file; the directory {shown} cannot be read"),
        Ok(entries) => {
            let names = entries.flatten().take(NEIGHBOURS_MAX);
            let names = names.filter_map(|entry| entry.file_name().into_string().ok());
            let scripts: Vec<String> = names.filter(|name| name.ends_with(".sql")).collect();
            let known: Vec<&str> = scripts.iter().map(String::as_str).collect();
            let near = path.file_name().and_then(|name| config::nearest(name.to_str()?, &known));
            let near = near.map(|name| folder.map_or(name.into(), |folder| folder.join(name)));
            let built_in = || "; a built-in script runs with: pgmeter bench -b tpcb-like".to_owned();
            let near = near.map_or_else(built_in, |near| format!("; did you mean \"{}\"?", near.display()));
            format!("No such file in {shown}{near}")
        }
    };
    io::Error::new(io::ErrorKind::NotFound, text)
}

/// Scripts that share their variables; in pgbench's dialect by default.
#[derive(Debug, Default)]
pub struct Scripts {
    dialect: Dialect,
    /// As given.
    pub texts: Vec<ScriptText>,
    /// Parsed, in the same order.
    pub programs: Vec<Program>,
    pub(crate) symbols: Symbols,
    copy_files: CopyFiles,
}

/// The variable for the scale of the tables.
pub(crate) const SCALE: &str = "scale";
/// The variables that the engine defines.
const AUTOMATIC: [&str; 4] = [SCALE, "client_id", "random_seed", "default_seed"];

/// Maximum number of scripts in a mix, as in pgbench.
pub const SCRIPTS_MAX: usize = 128;

impl Scripts {
    /// Reads and parses scripts in pgmeter's dialect; the workload's mix if none is given.
    ///
    /// # Errors
    /// A script cannot be read or parsed, or there are too many.
    pub fn read(specs: &[ScriptSpec], workload: &dyn Workload) -> Result<Self, RunError> {
        if specs.len() > SCRIPTS_MAX {
            return Err(RunError::Usage(format!("at most {SCRIPTS_MAX} SQL scripts are allowed")));
        }
        // All files are read before the first is parsed, so that a missing file is reported first.
        if specs.is_empty() && workload.mix().is_empty() {
            return Err(::workload::WorkloadError::NoScripts { workload: workload.name().to_owned() }.into());
        }
        let texts = if specs.is_empty() {
            workload.mix().into_iter().map(|script| ScriptText::of_workload(script, workload)).collect()
        } else {
            specs.iter().map(|spec| ScriptText::of(spec, workload)).collect::<Result<Vec<_>, _>>()?
        };
        let mut scripts = Self::in_pgmeters_dialect();
        texts.into_iter().try_for_each(|text| scripts.add(text)).map_err(RunError::Script)?;
        Ok(scripts)
    }

    /// No scripts yet, in pgmeter's dialect.
    pub(crate) fn in_pgmeters_dialect() -> Self {
        Self { dialect: Dialect::Extended, ..Self::default() }
    }

    /// Whether they are in pgbench's dialect.
    pub(crate) fn is_of_pgbench(&self) -> bool {
        self.dialect == Dialect::Pgbench
    }

    /// The files that the scripts name.
    pub(crate) fn digests(&self) -> Vec<Digest> {
        self.copy_files.digests()
    }

    /// Refuses files that are not those of rank 0.
    pub(crate) fn compare_files(&self, of_rank_0: &[Digest]) -> Result<(), RunError> {
        self.copy_files.compare(of_rank_0)
    }

    /// Parses another script, and reads the files that it names.
    ///
    /// # Errors
    /// It cannot be parsed, or a file cannot be read.
    pub fn add(&mut self, text: ScriptText) -> Result<(), ParseError> {
        let mut program = script::parse(&text.name, &text.text, &mut self.symbols, self.dialect)?;
        self.copy_files.read(&mut program, &text.folder)?;
        self.programs.push(program);
        self.texts.push(text);
        Ok(())
    }

    /// Refuses a script with a variable that is certainly undefined: that no script assigns, and none of `defined` is.
    ///
    /// # Errors
    /// There is one.
    pub(crate) fn check_variables<'a>(
        &self,
        defined: impl Iterator<Item = &'a str>,
        surface: Surface,
    ) -> Result<(), RunError> {
        let defined =
            DefinedVariables::new(&self.programs, &self.symbols, AUTOMATIC.into_iter().chain(defined));
        let Some(UndefinedVariable { name, error }) =
            self.programs.iter().find_map(|program| defined.first_undefined(program))
        else {
            return Ok(());
        };
        let names = defined.names();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let help = match config::nearest(&name, &known) {
            Some(nearest) => format!("did you mean \":{nearest}\"?"),
            None => {
                let definition = match surface {
                    Surface::Flags => format!("-D {name}=VALUE"),
                    Surface::Keys => format!("variables.{name} = \"VALUE\""),
                    Surface::Fields => "a variable of the specification".to_owned(),
                };
                format!("define it with \\set {name} … or {definition}")
            }
        };
        Err(RunError::Usage(format!("{error}\n{help}")))
    }

    /// Whether a script names the scale, in a command or in its declaration of contended rows.
    pub(crate) fn use_scale(&self) -> bool {
        let is_declared = |program: &Program| {
            program.contention().is_some_and(|(_, rows)| rows.variable.as_deref() == Some(SCALE))
        };
        self.symbols.lookup(SCALE).is_some() || self.programs.iter().any(is_declared)
    }

    /// Whether a script assigns the scale itself.
    pub(crate) fn assign_scale(&self) -> bool {
        let assigned = DefinedVariables::new(&self.programs, &self.symbols, std::iter::empty());
        assigned.names().iter().any(|name| name == SCALE)
    }

    /// Texts with their programs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ScriptText, &Program)> {
        self.texts.iter().zip(&self.programs)
    }

    /// Refuses a SQL command with more parameters than this protocol can carry.
    ///
    /// # Errors
    /// There is one.
    pub(crate) fn check_parameter_counts(
        &self,
        protocol: Protocol,
        surface: Surface,
    ) -> Result<(), RunError> {
        if protocol == Protocol::Simple {
            return Ok(());
        }
        let refused = self
            .programs
            .iter()
            .find_map(|program| program.check_parameter_counts(engine::PARAMETERS_MAX).err());
        refused.map_or(Ok(()), |error| {
            let (most, name) = (engine::PARAMETERS_MAX, protocol.name());
            Err(RunError::Usage(format!(
                "{error}\nthe {name} protocol carries at most {most} parameters; use {}, or split the statement",
                surface.setting("protocol", &["simple"])
            )))
        })
    }

    /// The first SQL command that has too many parameters for pgbench in this protocol, as written.
    pub fn too_many_parameters(&self, protocol: Protocol) -> Option<String> {
        if protocol == Protocol::Simple {
            return None;
        }
        let mut commands = self.programs.iter().flat_map(Program::commands);
        commands.find_map(|command| match &command.kind {
            CommandKind::Sql(sql) if sql.parameters().len() > PARAMETERS_MAX => {
                Some(String::from_utf8_lossy(sql.text_as_written()).into_owned())
            }
            _ => None,
        })
    }

    /// Sum of all weights.
    pub fn total_weight(&self) -> u64 {
        self.texts.iter().map(|text| u64::from(text.weight)).sum()
    }

    /// Whether a script needs the workload's tables.
    pub(crate) fn need_tables(&self) -> bool {
        self.texts.iter().any(|text| text.is_of_workload)
    }
}
