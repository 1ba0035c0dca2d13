//! The scripts of a run: their texts, and the programs they are parsed into, before anything is connected.
//! Where texts come from is the affair of whoever reads the command line.

use std::io::{self, Read};

use engine::Protocol;
use script::{CommandKind, Dialect, PARAMETERS_MAX, ParseError, Program, Symbols};
use workload::Builtin;

use crate::failure::Failure;

/// Longer than any script that somebody wrote; a device or a pipe may go on for ever.
const SCRIPT_LEN_MAX: u64 = 16 << 20;

/// Reads a script whole.
///
/// # Errors
/// It cannot be read, or is longer than scripts may be.
pub(crate) fn read_script(from: impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    from.take(SCRIPT_LEN_MAX + 1).read_to_end(&mut text)?;
    if text.len() as u64 > SCRIPT_LEN_MAX {
        return Err(io::Error::other(format!(
            "it is longer than {} MiB, as no script is",
            SCRIPT_LEN_MAX >> 20
        )));
    }
    Ok(text)
}

/// The text of one script of the mix.
#[derive(Clone, Debug)]
pub(crate) struct ScriptText {
    pub(crate) name: String,
    /// What pgbench's report calls it.
    pub(crate) description: String,
    pub(crate) text: Vec<u8>,
    pub(crate) weight: u32,
    pub(crate) builtin: bool,
    /// Of a built-in script: how the command begins that locks one of as many rows as the scale says.
    pub(crate) contended: Option<&'static str>,
}

impl ScriptText {
    /// A built-in script by its name or a prefix of it.
    pub(crate) fn builtin(prefix: &str, weight: u32) -> Result<Self, Failure> {
        Ok(Self::of_builtin(workload::builtin(prefix)?, weight))
    }

    pub(crate) fn of_builtin(builtin: &Builtin, weight: u32) -> Self {
        let (name, description) = (builtin.name.to_owned(), builtin.description.to_owned());
        Self {
            name,
            description,
            text: builtin.text.as_bytes().to_owned(),
            weight,
            builtin: true,
            contended: builtin.contended,
        }
    }

    /// A script of the user's own.
    pub(crate) fn of_file(name: String, text: Vec<u8>, weight: u32) -> Self {
        Self { description: name.clone(), name, text, weight, builtin: false, contended: None }
    }
}

/// Scripts that share their variables.
#[derive(Debug)]
pub(crate) struct Mix {
    dialect: Dialect,
    pub(crate) texts: Vec<ScriptText>,
    pub(crate) programs: Vec<Program>,
    pub(crate) symbols: Symbols,
}

impl Mix {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self { dialect, texts: Vec::new(), programs: Vec::new(), symbols: Symbols::new() }
    }

    /// Parses all of them, in our own dialect.
    pub(crate) fn parse(texts: Vec<ScriptText>) -> Result<Self, Failure> {
        let mut mix = Self::new(Dialect::Extended);
        texts.into_iter().try_for_each(|text| mix.add(text)).map_err(Failure::Script)?;
        Ok(mix)
    }

    /// Parses one more script.
    pub(crate) fn add(&mut self, text: ScriptText) -> Result<(), ParseError> {
        self.programs.push(script::parse(&text.name, &text.text, &mut self.symbols, self.dialect)?);
        self.texts.push(text);
        Ok(())
    }

    /// The first SQL command that this protocol cannot carry, as it is written: one with too many parameters.
    pub(crate) fn too_many_parameters(&self, protocol: Protocol) -> Option<String> {
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

    pub(crate) fn total_weight(&self) -> u64 {
        self.texts.iter().map(|text| u64::from(text.weight)).sum()
    }

    pub(crate) fn has_builtin(&self) -> bool {
        self.texts.iter().any(|text| text.builtin)
    }
}
