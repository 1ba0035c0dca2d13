//! Checks of an experiment before its first trial: whether its servers, settings, tablespaces and rights are available.
//! Starts nothing; queries running servers.

use std::collections::BTreeSet;
use std::path::Path;

use connect::quote::literal;
use connect::{Environment, Overrides, Session, SqlState, Target};
use experiment::{Cell, Configuration, Origin, Plan, ServerSpec, SessionSettings};
use run::{Control, RunError, Runner, ScriptSpec};

use crate::running_pooler;
use crate::session_options::{refused_by_server, with_settings};
use crate::trial;

/// Checks what trials of this plan need.
///
/// # Errors
/// Something is missing; the error names everything that was found to be missing.
pub fn preflight(plan: &Plan, control: &Control) -> Result<(), RunError> {
    let problems = problems(plan, control);
    if problems.is_empty() {
        return Ok(());
    }
    let listed: Vec<String> = problems.into_iter().collect();
    Err(RunError::Usage(format!("the experiment cannot run: {}", listed.join("; "))))
}

/// What prevents trials, a sentence each.
fn problems(plan: &Plan, control: &Control) -> BTreeSet<String> {
    let mut problems: BTreeSet<String> = running_pooler::problems(&plan.cells).into_iter().collect();
    for server in &plan.servers {
        let cells: Vec<&Cell> =
            plan.cells.iter().filter(|cell| cell.configuration.server == *server).collect();
        problems.extend(problems_of_paths(server));
        match &server.origin {
            Origin::Version(version) => {
                problems.extend(server::Wanted::parse(version).err().map(|error| error.to_string()))
            }
            Origin::Programs(_) => {}
            Origin::Running(dsn) => match problems_of_running(dsn, &cells, control) {
                Ok(found) => problems.extend(found),
                Err(failure) => drop(problems.insert(failure.to_string())),
            },
        }
    }
    problems
}

/// Directories that do not exist.
fn problems_of_paths(server: &ServerSpec) -> Vec<String> {
    let mut problems = Vec::new();
    if let Origin::Programs(directory) = &server.origin {
        let is_missing = |program: &&str| !directory.join(program).is_file();
        let missing = ["postgres", "initdb"].into_iter().find(is_missing);
        problems
            .extend(missing.map(|program| format!("bin_dir {}: there is no {program}", directory.display())));
    }
    for (name, directory) in &server.tablespaces {
        if !directory.is_empty() && !Path::new(directory).is_dir() {
            problems.push(format!("tablespace {name}: there is no directory {directory}"));
        }
    }
    problems
}

/// What prevents trials of these cells on a running server.
fn problems_of_running(dsn: &str, cells: &[&Cell], control: &Control) -> Result<Vec<String>, RunError> {
    let target = connect::resolve(Some(dsn), &Overrides::default(), &Environment::of_process())?;
    let mut session = control.connect(&target)?;
    let configurations: Vec<&Configuration> = cells.iter().map(|cell| &cell.configuration).collect();
    let mut problems = rights(&mut session, &configurations)?;
    let names = configurations.iter().flat_map(|it| it.session.keys());
    let refused = refused_by_server(&mut session, names)?;
    if refused.is_empty() {
        // The server checks the values when a session begins.
        let values: BTreeSet<_> =
            configurations.iter().map(|it| &it.session).filter(|it| !it.is_empty()).collect();
        for settings in values {
            let target = with_settings(target.clone(), settings);
            match control.connect(&target) {
                Err(error) => problems.push(error.to_string()),
                Ok(mut session) => {
                    if let Err(error) = run::settings_in_force(&mut session, &target) {
                        problems.push(error.to_string());
                        // The others have the same cause.
                        break;
                    }
                }
            }
        }
    }
    problems.extend(refused);
    if problems.is_empty() {
        problems.extend(problems_of_scripts(&target, cells, control));
    }
    for name in
        configurations.iter().flat_map(|it| [&it.data.tablespace, &it.data.index_tablespace]).flatten()
    {
        let of_it = format!("FROM pg_tablespace WHERE spcname = {}", literal(name));
        let rows =
            session.query_catalogs(&format!("SELECT has_tablespace_privilege(oid, 'CREATE') {of_it}"))?;
        match rows.first().map(|row| row.get(0)) {
            None => problems.push(format!("the server has no tablespace {name}: CREATE TABLESPACE makes one")),
            Some(Some("f")) => problems.push(format!(
                "the role {} may not create tables in the tablespace {name}: GRANT CREATE ON TABLESPACE {name}",
                target.user
            )),
            Some(_) => {}
        }
    }
    Ok(problems)
}

/// Different scripts, variables or settings whose statements are checked; each needs a connection.
const SCRIPTS_MAX: usize = 100;

/// The first statement of each load that fails on this server.
fn problems_of_scripts(target: &Target, cells: &[&Cell], control: &Control) -> Vec<String> {
    let mut checked: Vec<(&[ScriptSpec], &SessionSettings, &SessionSettings)> = Vec::new();
    let mut problems = Vec::new();
    for cell in cells.iter().filter(|cell| cell.configuration.is_load()) {
        let Configuration { load, session, server, ddl, .. } = &cell.configuration;
        let scripts = (load.scripts.as_slice(), &load.variables, session);
        if checked.len() >= SCRIPTS_MAX || checked.contains(&scripts) {
            continue;
        }
        checked.push(scripts);
        // Other trials get their tables later.
        let has_tables = server.in_place && ddl.is_none();
        let request = trial::request(cell, 0, with_settings(target.clone(), session), Vec::new());
        match request.and_then(Runner::new).and_then(|mut runner| runner.check_scripts(control)) {
            Err(RunError::Statement(error)) if has_tables || error.sqlstate == SqlState::SYNTAX_ERROR => {
                problems.push(error.to_string());
            }
            Err(error @ RunError::Workload(_)) if has_tables => problems.push(error.to_string()),
            Ok(()) | Err(_) => {}
        }
    }
    problems
}

/// The rights and the connections that trials need.
fn rights(session: &mut Session, cells: &[&Configuration]) -> Result<Vec<String>, RunError> {
    let checkpoint = if session.server_version_num() >= 150_000 {
        "pg_has_role('pg_checkpoint', 'USAGE')"
    } else {
        "rolsuper"
    };
    let rows = session.query_catalogs(&format!(
        "SELECT rolname, rolsuper OR rolcreatedb, rolsuper OR {checkpoint}, current_setting('max_connections') \
         FROM pg_roles WHERE rolname = current_user"
    ))?;
    let Some(row) = rows.first() else { return Ok(Vec::new()) };
    let (role, lacks) = (row.get(0).unwrap_or_default(), |at| row.get(at) == Some("f"));
    let mut problems = Vec::new();
    if lacks(1) && cells.iter().any(|it| !it.server.in_place) {
        problems.push(format!(
            "the role {role} may not create databases, and trials need copies of their data: ALTER ROLE {role} CREATEDB, or \
             set in_place = true"
        ));
    }
    if lacks(2) && cells.iter().any(|it| it.data.checkpoint) {
        problems.push(format!(
            "the role {role} may not request checkpoints: set checkpoint = false or, since PostgreSQL 15, GRANT \
             pg_checkpoint TO {role}"
        ));
    }
    let clients = cells.iter().map(|it| it.load.clients).max().unwrap_or_default();
    let most = row.get(3).and_then(|most| most.parse::<u32>().ok());
    if let Some(most) = most.filter(|most| clients > *most) {
        problems.push(format!(
            "{clients} clients need more connections than the server has: max_connections is {most}"
        ));
    }
    Ok(problems)
}
