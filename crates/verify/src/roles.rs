//! Where the tokens of a script belong: with each COMMIT, and with each statement outside of a transaction block that writes.
//! Refuses scripts for which that cannot be right. Pure; docs/verify.md has a table of the cases.

use std::fmt;

use engine::TokenRole;
use results::TokenPlace;
use script::{CommandKind, Program, Sql};
use sql::{StatementWord, statement_words};
use stats::Protocol;
use thiserror::Error;

/// Where the tokens of all scripts belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles {
    /// In the order of the scripts.
    pub scripts: Vec<ScriptRoles>,
}

/// Where the tokens of a script belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptRoles {
    /// The role of each command.
    pub commands: Vec<TokenRole>,
    /// In short, for the record.
    pub place: TokenPlace,
}

/// Why a load cannot be verified.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// A command of a script.
    #[error("--verify cannot be used with script {script}, line {line}: {why}")]
    Command {
        /// The script's name.
        script: String,
        /// The command's line.
        line: u32,
        /// The reason with the remedy.
        why: Why,
    },
    /// A script that writes in transaction blocks and commits none.
    #[error(
        "--verify cannot be used with script {script}: its transactions write and never commit, so none can be lost; leave \
         --verify out, or end them with COMMIT"
    )]
    NeverCommits {
        /// The script's name.
        script: String,
    },
    /// A script that writes on another server than the default one.
    #[error(
        "--verify cannot be used with script {script}: it writes on the target {target}, and tokens are kept on the default \
         server only; make that server the default, or leave the script out"
    )]
    OtherTarget {
        /// The script's name.
        script: String,
        /// The target's name.
        target: String,
    },
    /// No script writes.
    #[error(
        "--verify needs a load that writes, and no script does: a transaction that only reads has nothing to lose, and a token \
         would make it another load; leave --verify out, or add a script that writes"
    )]
    NothingWritten,
}

/// Why a command cannot be verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Transaction control and other statements in one message.
    Joined,
    /// `PREPARE TRANSACTION` and its companions.
    TwoPhase,
    /// `COMMIT AND CHAIN` or `ROLLBACK AND CHAIN`.
    Chain,
    /// `COPY … FROM STDIN` outside of a transaction block.
    Copy,
    /// `CALL` or `DO` outside of a transaction block, in a protocol in which it can commit before its token.
    Procedure,
    /// Several transactions in one pipeline.
    PipelineOfSeveral,
    /// Statements after COMMIT in its pipeline.
    AfterCommit,
}

impl fmt::Display for Why {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Joined => {
                "BEGIN, COMMIT or ROLLBACK is joined with other statements by \\;, so the token cannot be placed before the \
                 COMMIT; end each with a semicolon of its own"
            }
            Self::TwoPhase => "two-phase commit is not supported; use BEGIN and COMMIT",
            Self::Chain => "AND CHAIN is not supported; use COMMIT or ROLLBACK, and then BEGIN",
            Self::Copy => {
                "COPY … FROM STDIN outside of a transaction block cannot be sent together with a token; write BEGIN; before it \
                 and COMMIT; after it"
            }
            Self::Procedure => {
                "a procedure or DO can commit several times with -M extended or prepared, and its token would belong to one of \
                 these transactions only; write BEGIN; before it and COMMIT; after it, or use -M simple, where a COMMIT in it \
                 is an error"
            }
            Self::PipelineOfSeveral => {
                "its pipeline has several transactions, whose outcomes cannot be told apart; end the pipeline after each \
                 with \\endpipeline"
            }
            Self::AfterCommit => {
                "a statement follows COMMIT in its pipeline, so an error of it would look like one of the COMMIT; end the \
                 pipeline after COMMIT with \\endpipeline"
            }
        })
    }
}

/// What a statement means for tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Begin,
    Commit,
    Rollback,
    /// It may write.
    Write,
    /// It may write, and may commit by itself.
    Procedure,
    /// It changes nothing that could be lost, or cannot be executed together with a token.
    Nothing,
    Refused(Why),
}

/// A word outside of strings, quoted names and comments, in lower case.
struct Word {
    text: String,
    /// Number of parentheses around it.
    depth: usize,
}

/// The statements of a text, each as its words.
fn statements(sql: &[u8]) -> Vec<Vec<Word>> {
    let word = |word: StatementWord<'_>| Word {
        text: encoding::decode(word.text).to_ascii_lowercase(),
        depth: word.depth,
    };
    statement_words(sql).into_iter().map(|words| words.into_iter().map(word).collect()).collect()
}

/// First words of statements that change nothing that could be lost.
const NOTHING: [&str; 22] = [
    "savepoint",
    "release",
    "set",
    "reset",
    "show",
    "discard",
    "listen",
    "unlisten",
    "notify",
    "deallocate",
    "declare",
    "fetch",
    "move",
    "close",
    "lock",
    "checkpoint",
    "load",
    "vacuum",
    "analyze",
    "analyse",
    "values",
    "table",
];
/// Words of statements in queries that write.
const WRITES: [&str; 4] = ["insert", "update", "delete", "merge"];
/// Objects that are created, dropped or altered outside of transaction blocks only.
const CLUSTER_WIDE: [&str; 4] = ["database", "tablespace", "system", "subscription"];

impl Roles {
    /// Finds the roles of the scripts that are executed; `is_used` selects them. `writes` tells whether a word is the
    /// name of a function that may write.
    ///
    /// # Errors
    /// A script cannot be verified, or none writes.
    pub fn new(
        programs: &[Program],
        is_used: impl Fn(usize) -> bool,
        writes: &dyn Fn(&str) -> bool,
        protocol: Protocol,
    ) -> Result<Self, Refusal> {
        let mut scripts = Vec::new();
        for (index, program) in programs.iter().enumerate() {
            let roles = match is_used(index) {
                true => Script::new(program, writes, protocol).roles()?,
                false => ScriptRoles::none(program),
            };
            if let (true, Some(target)) = (roles.place != TokenPlace::Nowhere, program.target()) {
                let (script, target) = (program.name().to_owned(), target.to_owned());
                return Err(Refusal::OtherTarget { script, target });
            }
            scripts.push(roles);
        }
        match scripts.iter().any(|script| script.place != TokenPlace::Nowhere) {
            true => Ok(Self { scripts }),
            false => Err(Refusal::NothingWritten),
        }
    }

    /// All words of the scripts' queries, among which names of functions may be.
    pub fn words(programs: &[Program]) -> Vec<String> {
        let commands = programs.iter().flat_map(Program::commands);
        let texts = commands.filter_map(|command| match &command.kind {
            CommandKind::Sql(sql) => Some(sql.text_as_written()),
            _ => None,
        });
        let mut words: Vec<String> = texts.flat_map(statements).flatten().map(|word| word.text).collect();
        words.sort();
        words.dedup();
        words
    }
}

impl ScriptRoles {
    fn none(program: &Program) -> Self {
        Self { commands: vec![TokenRole::Nothing; program.commands().len()], place: TokenPlace::Nowhere }
    }
}

/// State of reading a script from its first command to its last. Branches are read one after the other.
struct Script<'a> {
    program: &'a Program,
    writes: &'a dyn Fn(&str) -> bool,
    protocol: Protocol,
    in_block: bool,
    pipeline: Option<Pipeline>,
    has_begin: bool,
    has_commit: bool,
    writes_in_block: bool,
    writes_alone: bool,
    repeats: u32,
}

/// What was read of a pipeline.
#[derive(Clone, Copy, Default)]
struct Pipeline {
    /// It has statements.
    has_statements: bool,
    /// It has a COMMIT.
    commits: bool,
}

impl<'a> Script<'a> {
    fn new(program: &'a Program, writes: &'a dyn Fn(&str) -> bool, protocol: Protocol) -> Self {
        Self {
            program,
            writes,
            protocol,
            in_block: false,
            pipeline: None,
            has_begin: false,
            has_commit: false,
            writes_in_block: false,
            writes_alone: false,
            repeats: 0,
        }
    }

    fn roles(mut self) -> Result<ScriptRoles, Refusal> {
        let mut commands = Vec::new();
        for command in self.program.commands() {
            let role = self.role(&command.kind).map_err(|why| Refusal::Command {
                script: self.program.name().to_owned(),
                line: command.line,
                why,
            })?;
            commands.push(role);
        }
        if self.writes_in_block && !self.has_commit {
            return Err(Refusal::NeverCommits { script: self.program.name().to_owned() });
        }
        let place = match (self.writes_in_block, self.writes_alone) {
            (true, false) => TokenPlace::WithCommit,
            (false, true) => TokenPlace::WithStatement,
            (true, true) => TokenPlace::WithBoth,
            (false, false) => TokenPlace::Nowhere,
        };
        Ok(ScriptRoles { commands, place })
    }

    fn role(&mut self, command: &CommandKind) -> Result<TokenRole, Why> {
        match command {
            CommandKind::Sql(sql) => return self.role_of_sql(sql),
            CommandKind::StartPipeline => self.pipeline = Some(Pipeline::default()),
            // Each Sync would end a transaction of its own.
            CommandKind::SyncPipeline if !self.in_block || self.pipeline.is_some_and(|it| it.commits) => {
                return Err(Why::PipelineOfSeveral);
            }
            CommandKind::EndPipeline => self.pipeline = None,
            CommandKind::Repeat(_) => self.repeats += 1,
            CommandKind::EndRepeat(_) => self.repeats = self.repeats.saturating_sub(1),
            CommandKind::SyncPipeline
            | CommandKind::Set(_)
            | CommandKind::SetArray(_)
            | CommandKind::SetString(_)
            | CommandKind::Sleep(_)
            | CommandKind::If(_)
            | CommandKind::Elif(_)
            | CommandKind::Else(_)
            | CommandKind::EndIf
            | CommandKind::SetShell(_)
            | CommandKind::Shell(_)
            | CommandKind::Batch(_) => {}
        }
        Ok(TokenRole::Nothing)
    }

    fn role_of_sql(&mut self, sql: &Sql) -> Result<TokenRole, Why> {
        let statements = statements(sql.text_as_written());
        let kinds: Vec<Kind> = statements.iter().map(|words| kind(words, self.writes)).collect();
        if let Some(Kind::Refused(why)) = kinds.iter().find(|kind| matches!(kind, Kind::Refused(_))) {
            return Err(*why);
        }
        let controls = |kind: &Kind| matches!(kind, Kind::Begin | Kind::Commit | Kind::Rollback);
        if kinds.len() > 1 && kinds.iter().any(controls) {
            return Err(Why::Joined);
        }
        let of_pipeline = self.pipeline.map(|mut pipeline| {
            let before = pipeline;
            pipeline.has_statements = true;
            pipeline.commits |= kinds.first() == Some(&Kind::Commit);
            self.pipeline = Some(pipeline);
            before
        });
        if of_pipeline.is_some_and(|pipeline| pipeline.commits) {
            return Err(Why::AfterCommit);
        }
        match kinds.first() {
            Some(Kind::Begin) => {
                // What stands before it is a transaction of its own.
                if of_pipeline.is_some_and(|pipeline| pipeline.has_statements) {
                    return Err(Why::PipelineOfSeveral);
                }
                (self.has_begin, self.in_block) = (true, true);
                Ok(TokenRole::Begin)
            }
            Some(Kind::Commit) => {
                if of_pipeline.is_some() && self.repeats > 0 {
                    return Err(Why::PipelineOfSeveral);
                }
                (self.has_commit, self.in_block) = (true, false);
                Ok(TokenRole::Commit)
            }
            Some(Kind::Rollback) => {
                self.in_block = false;
                if of_pipeline.is_some() {
                    return Err(Why::PipelineOfSeveral);
                }
                Ok(TokenRole::Nothing)
            }
            _ if kinds.contains(&Kind::Procedure) && !self.in_block && self.protocol != Protocol::Simple => {
                Err(Why::Procedure)
            }
            _ if kinds.contains(&Kind::Write) || kinds.contains(&Kind::Procedure) => self.role_of_write(sql),
            _ => Ok(TokenRole::Nothing),
        }
    }

    fn role_of_write(&mut self, sql: &Sql) -> Result<TokenRole, Why> {
        if !self.in_block && sql.copy_source().is_some() {
            return Err(Why::Copy);
        }
        // In a branch after a block, the server's state decides.
        self.writes_in_block |= self.in_block;
        self.writes_alone |= !self.in_block;
        Ok(TokenRole::Write)
    }
}

fn kind(words: &[Word], writes: &dyn Fn(&str) -> bool) -> Kind {
    let word = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let has = |wanted: &str| words.iter().any(|word| word.text == wanted);
    let has_any = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.text.as_str()));
    let ends_block = |kind: Kind| match () {
        () if has("prepared") => Kind::Refused(Why::TwoPhase),
        () if has("chain") && !has("no") => Kind::Refused(Why::Chain),
        () => kind,
    };
    match word(0) {
        "begin" => Kind::Begin,
        "start" if word(1) == "transaction" => Kind::Begin,
        "commit" | "end" => ends_block(Kind::Commit),
        "rollback" if has("to") => Kind::Nothing,
        "rollback" | "abort" => ends_block(Kind::Rollback),
        "prepare" if word(1) == "transaction" => Kind::Refused(Why::TwoPhase),
        "prepare" => Kind::Nothing,
        first if NOTHING.contains(&first) => Kind::Nothing,
        "create" | "drop" | "alter" if CLUSTER_WIDE.contains(&word(1)) || has("concurrently") => {
            Kind::Nothing
        }
        "reindex" | "cluster" => Kind::Nothing,
        "call" | "do" => Kind::Procedure,
        "refresh" if has("concurrently") => Kind::Write,
        "select" | "with" => {
            let is_written = has_any(&WRITES) && word(0) == "with";
            let selects_into = words.iter().any(|word| word.depth == 0 && word.text == "into");
            let calls = || words.iter().any(|word| writes(&word.text));
            if is_written || selects_into || calls() { Kind::Write } else { Kind::Nothing }
        }
        "explain" => {
            let executes = has("analyze") || has("analyse");
            if executes && has_any(&WRITES) { Kind::Write } else { Kind::Nothing }
        }
        "copy" => {
            let reads_rows = words.iter().any(|word| word.depth == 0 && word.text == "from");
            if reads_rows || has_any(&WRITES) { Kind::Write } else { Kind::Nothing }
        }
        _ => Kind::Write,
    }
}

#[cfg(test)]
mod tests {
    use script::{Dialect, Symbols, parse};

    use super::*;

    fn program(text: &str) -> Program {
        parse("s.sql", text.as_bytes(), &mut Symbols::new(), Dialect::Extended).expect("a script")
    }

    fn roles(text: &str) -> Result<ScriptRoles, Refusal> {
        roles_in(Protocol::Prepared, text)
    }

    fn roles_in(protocol: Protocol, text: &str) -> Result<ScriptRoles, Refusal> {
        let programs = [program(text)];
        Roles::new(&programs, |_| true, &|word| word == "pay", protocol).map(|roles| roles.scripts[0].clone())
    }

    fn check(text: &str, place: TokenPlace, expected: &[TokenRole]) {
        let found = roles(text).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
        assert_eq!((found.place, found.commands.as_slice()), (place, expected), "{text}");
    }

    fn check_refused(text: &str, expected: Why) {
        match roles(text) {
            Err(Refusal::Command { why, .. }) => assert_eq!(why, expected, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn tokens_go_with_commit_and_with_statements_that_stand_alone() {
        use TokenRole::{Begin, Commit, Nothing, Write};
        check(
            "\\set a 1\nBEGIN;\nUPDATE t SET a = 1;\nSELECT 1;\nEND;\n",
            TokenPlace::WithCommit,
            &[Nothing, Begin, Write, Nothing, Commit],
        );
        check("INSERT INTO t VALUES (1);\nSELECT 1;\n", TokenPlace::WithStatement, &[Write, Nothing]);
        check("UPDATE a SET b = 1 \\; UPDATE b SET a = 1;\n", TokenPlace::WithStatement, &[Write]);
        check(
            "DELETE FROM t;\nstart transaction;\nINSERT INTO t VALUES (1);\ncommit work;\n",
            TokenPlace::WithBoth,
            &[Write, Begin, Write, Commit],
        );
        check(
            "BEGIN;\nINSERT INTO t VALUES (1);\n\\if :client_id\nROLLBACK;\n\\else\nCOMMIT;\n\\endif\n",
            TokenPlace::WithCommit,
            &[Begin, Write, Nothing, Nothing, Nothing, Commit, Nothing],
        );
        check("SELECT pay(1);\n", TokenPlace::WithStatement, &[Write]);
        check(
            "WITH x AS (DELETE FROM t RETURNING a) SELECT * FROM x;\n",
            TokenPlace::WithStatement,
            &[Write],
        );
        check("VACUUM t;\nTRUNCATE t;\n", TokenPlace::WithStatement, &[Nothing, Write]);
    }

    #[test]
    fn pipelines_of_one_transaction_are_accepted() {
        use TokenRole::{Begin, Commit, Nothing, Write};
        check(
            "\\startpipeline\nBEGIN;\nUPDATE t SET a = 1;\nCOMMIT;\n\\endpipeline\n",
            TokenPlace::WithCommit,
            &[Nothing, Begin, Write, Commit, Nothing],
        );
        check(
            "\\startpipeline\nUPDATE t SET a = 1;\nSELECT 1;\n\\endpipeline\n",
            TokenPlace::WithStatement,
            &[Nothing, Write, Nothing, Nothing],
        );
        check(
            "BEGIN;\n\\startpipeline\nUPDATE t SET a = 1;\n\\syncpipeline\nSELECT 1;\n\\endpipeline\nCOMMIT;\n",
            TokenPlace::WithCommit,
            &[Begin, Nothing, Write, Nothing, Nothing, Nothing, Commit],
        );
    }

    #[test]
    fn loads_that_cannot_be_verified_are_refused() {
        check_refused("BEGIN \\; UPDATE t SET a = 1 \\; COMMIT;\n", Why::Joined);
        check_refused("PREPARE TRANSACTION 'a';\n", Why::TwoPhase);
        check_refused("COMMIT PREPARED 'a';\n", Why::TwoPhase);
        check_refused("BEGIN;\nUPDATE t SET a = 1;\nCOMMIT AND CHAIN;\n", Why::Chain);
        check_refused("COPY t FROM STDIN;\n\\copy_rows 2 (1)\n", Why::Copy);
        let pipeline = |body: &str| format!("\\startpipeline\n{body}\\endpipeline\n");
        check_refused(
            &pipeline("UPDATE t SET a = 1;\n\\syncpipeline\nUPDATE t SET a = 1;\n"),
            Why::PipelineOfSeveral,
        );
        check_refused(&pipeline("UPDATE t SET a = 1;\nBEGIN;\nCOMMIT;\n"), Why::PipelineOfSeveral);
        check_refused(&pipeline("BEGIN;\nUPDATE t SET a = 1;\nCOMMIT;\nSELECT 1;\n"), Why::AfterCommit);
        check_refused(
            &pipeline("\\repeat 2\nBEGIN;\nUPDATE t SET a = 1;\nCOMMIT;\n\\endrepeat\n"),
            Why::PipelineOfSeveral,
        );
        let script = "s.sql".to_owned();
        assert_eq!(
            roles("BEGIN;\nUPDATE t SET a = 1;\nROLLBACK;\n"),
            Err(Refusal::NeverCommits { script: script.clone() })
        );
        assert_eq!(roles("SELECT 1;\n"), Err(Refusal::NothingWritten));
        assert_eq!(roles("BEGIN;\nSELECT 1;\nCOMMIT;\n"), Err(Refusal::NothingWritten));
        let target = "other".to_owned();
        assert_eq!(
            roles("\\target other\nUPDATE t SET a = 1;\n"),
            Err(Refusal::OtherTarget { script, target })
        );
    }

    /// A procedure commits by itself if its message begins outside of a block: with the extended protocol, PostgreSQL 11 to
    /// 18 executes CALL before it begins the implicit block of the message.
    #[test]
    fn procedures_outside_of_a_block_are_refused_where_they_can_commit() {
        for text in ["CALL pay(1);\n", "CALL pay(1) \\gset\n", "DO $$ BEGIN COMMIT; END $$;\n"] {
            check_refused(text, Why::Procedure);
            check_refused(&format!("\\startpipeline\n{text}\\endpipeline\n"), Why::Procedure);
            let found = roles_in(Protocol::Simple, text).expect("one message is one transaction");
            assert_eq!(found.place, TokenPlace::WithStatement, "{text}");
            let block = format!("BEGIN;\n{text}COMMIT;\n");
            check(&block, TokenPlace::WithCommit, &[TokenRole::Begin, TokenRole::Write, TokenRole::Commit]);
        }
    }

    #[test]
    fn reading_scripts_in_a_mix_get_no_tokens_and_unused_ones_are_not_judged() {
        let programs =
            [program("SELECT 1;\n"), program("UPDATE t SET a = 1;\n"), program("COMMIT PREPARED 'a';\n")];
        let found =
            Roles::new(&programs, |script| script < 2, &|_| false, Protocol::Simple).expect("one writes");
        let places: Vec<TokenPlace> = found.scripts.iter().map(|script| script.place).collect();
        assert_eq!(places, [TokenPlace::Nowhere, TokenPlace::WithStatement, TokenPlace::Nowhere]);
    }

    #[test]
    fn kinds_of_statements() {
        for (sql, expected) in [
            ("copy (select a from t) to stdout", Kind::Nothing),
            ("copy t from stdin", Kind::Write),
            ("copy (insert into t values (1) returning a) to stdout", Kind::Write),
            ("select a into b from t", Kind::Write),
            ("select a from t for update", Kind::Nothing),
            ("rollback to savepoint a", Kind::Nothing),
            ("rollback and no chain", Kind::Rollback),
            ("create index concurrently on t (a)", Kind::Nothing),
            ("create table t (a int)", Kind::Write),
            ("explain analyze update t set a = 1", Kind::Write),
            ("explain update t set a = 1", Kind::Nothing),
            ("merge into t using s on true when matched then delete", Kind::Write),
            ("call pay(1)", Kind::Procedure),
            ("do $$ begin end $$", Kind::Procedure),
            ("-- end\nselect 'insert'", Kind::Nothing),
        ] {
            assert_eq!(kind(&statements(sql.as_bytes())[0], &|_| false), expected, "{sql}");
        }
    }
}
