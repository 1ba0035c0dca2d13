//! The order for a run, which rank 0 sends to the other ranks: all options, servers and scripts that it has resolved,
//! without passwords. Each rank makes the engine's plan from it, with connections of its own.

use connect::{Environment, Overrides, Target};
use engine::Plan;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use stats::Scale;

use crate::control::Control;
use crate::copy_files::Digest;
use crate::error::RunError;
use crate::load_watch::Watch;
use crate::runner::{Circumstances, Runner};
use crate::scripts::{ScriptText, Scripts};
use crate::spec::{RunSpec, Vacuum};

/// A run for the other ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Number of ranks that take part.
    machines: usize,
    /// The load with its seed and scale, without the tasks of rank 0 (vacuum, checks, goals, actions).
    spec: RunSpec,
    scripts: Vec<OrderedScript>,
    /// The server of the clients.
    connection: String,
    /// The name of the clients' sessions, by which the observer knows them.
    application_name: Option<String>,
    /// The further servers, by their names in scripts.
    targets: Vec<(String, String)>,
    /// The files that the scripts name.
    files: Vec<Digest>,
}

/// A script as rank 0 read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct OrderedScript {
    name: String,
    /// In any encoding, see `encoding`.
    text: String,
    weight: u32,
    /// The directory of the files that it names.
    folder: PathBuf,
}

impl Order {
    /// The order for a run that rank 0 has resolved.
    ///
    /// # Errors
    /// The run cannot be distributed.
    pub(crate) fn of(runner: &Runner, scale: Scale, machines: usize) -> Result<Order, RunError> {
        refuse_what_one_machine_does(&runner.spec)?;
        let targets = runner.targets.iter();
        let spec = RunSpec {
            workload: None,
            scripts: Vec::new(),
            scale: Some(scale),
            seed: Some(runner.seed),
            vacuum: Vacuum::Nothing,
            check: false,
            until: None,
            goals: Vec::new(),
            stop_on_miss: false,
            targets: Vec::new(),
            machines: None,
            actions: Vec::new(),
            ..runner.spec.clone()
        };
        Ok(Order {
            machines,
            spec,
            connection: runner.client_target().connection_string(),
            application_name: runner.target.application_name.clone(),
            targets: targets.map(|(name, target)| (name.clone(), target.connection_string())).collect(),
            scripts: runner.scripts.texts.iter().map(OrderedScript::of).collect(),
            files: runner.scripts.digests(),
        })
    }

    /// Number of ranks that take part.
    pub(crate) fn machines(&self) -> usize {
        self.machines
    }

    /// The same order with the limit, warm-up, seed and application name of the plan of rank 0.
    pub(crate) fn for_plan(&self, plan: &Plan) -> Order {
        let mut order = self.clone();
        (order.spec.limit, order.spec.warmup, order.spec.seed) = (plan.limit, plan.warmup, Some(plan.seed));
        let host = plan.targets.first().and_then(|target| target.hosts.first());
        order.application_name = host.and_then(|host| host.startup.application_name.clone());
        order
    }

    /// The engine's plan on this rank. Its connections have the passwords of this rank's environment.
    ///
    /// # Errors
    /// The server is unreachable from this host, or a file of the scripts differs from that of rank 0.
    pub(crate) fn plan(self, control: &Control) -> Result<Plan, RunError> {
        let environment = Environment::of_process();
        let resolve =
            |connection: &str| connect::resolve(Some(connection), &Overrides::default(), &environment);
        let target = Target { application_name: self.application_name, ..resolve(&self.connection)? };
        let targets = self.targets.iter().map(|(name, connection)| Ok((name.clone(), resolve(connection)?)));
        let targets = targets.collect::<Result<_, RunError>>()?;
        let mut scripts = Scripts::in_pgmeters_dialect();
        self.scripts
            .into_iter()
            .try_for_each(|script| scripts.add(script.into_text()))
            .map_err(RunError::Script)?;
        scripts.compare_files(&self.files)?;
        let circumstances = Circumstances { asks_settings: false, ..Circumstances::default() };
        let runner = Runner { targets, ..Runner::with_scripts(target, self.spec, scripts) };
        Ok(runner.under(circumstances).load(control, &mut |_| ())?.plan)
    }
}

impl OrderedScript {
    fn of(script: &ScriptText) -> Self {
        let ScriptText { name, text, weight, folder, .. } = script;
        let text = encoding::decode(text).into_owned();
        Self { name: name.clone(), text, weight: *weight, folder: folder.clone() }
    }

    fn into_text(self) -> ScriptText {
        let text = encoding::encode(&self.text).into_owned();
        ScriptText { folder: self.folder, ..ScriptText::of_file(self.name, text, self.weight) }
    }
}

/// Refuses options that need all clients in one process.
fn refuse_what_one_machine_does(spec: &RunSpec) -> Result<(), RunError> {
    if spec.verify {
        let reason = "--verify is not possible on several machines, because each would have a journal of its own: use \
                      --machines 1";
        return Err(RunError::Usage(reason.to_owned()));
    }
    if Watch::new(spec).is_some() {
        let reason = "--max-lag, --max-waiting-locks, --pause-when and --stop-when are not possible on several machines, \
                      because a pause would not reach the others in time: use --machines 1";
        return Err(RunError::Usage(reason.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_the_texts_of_scripts_in_any_encoding_and_no_password() {
        let mut scripts = Scripts::in_pgmeters_dialect();
        let text = b"SELECT 'caf\xe9';\n".to_vec();
        scripts.add(ScriptText::of_file("s.sql".to_owned(), text.clone(), 3)).unwrap();
        let resolve = |connection: &str| {
            let environment = Environment { os_user: Some("alice".to_owned()), ..Environment::default() };
            connect::resolve(Some(connection), &Overrides::default(), &environment).unwrap()
        };
        let spec = RunSpec { clients: 8, check: true, ..RunSpec::default() };
        let mut runner = Runner::with_scripts(resolve("host=a password=hidden1 user=bob"), spec, scripts);
        runner
            .targets
            .push(("reader".to_owned(), resolve("postgresql://bob:hidden2@b/app?sslpassword=hidden3")));
        let order = Order::of(&runner, Scale::ONE, 4).unwrap();
        let json = serde_json::to_string(&order).unwrap();
        assert!(!json.contains("hidden"), "{json}");
        let read: Order = serde_json::from_str(&json).unwrap();
        assert_eq!(read, order);
        assert_eq!((read.machines(), read.spec.clients, read.spec.check), (4, 8, false));
        assert_eq!(read.spec.seed, Some(runner.seed));
        assert!(read.connection.contains("host='a'") && read.connection.contains("user='bob'"), "{json}");
        assert!(
            read.targets[0].1.contains("host='b'") && read.targets[0].1.contains("dbname='app'"),
            "{json}"
        );
        let script = read.scripts.into_iter().next().unwrap().into_text();
        assert_eq!((script.text, script.weight, script.name.as_str()), (text, 3, "s.sql"));
    }

    #[test]
    fn what_one_machine_does_is_refused() {
        let spec = RunSpec { pause_when: Some("select true".to_owned()), ..RunSpec::default() };
        let refused = refuse_what_one_machine_does(&spec).unwrap_err().to_string();
        assert!(refused.contains("--pause-when") && refused.contains("--machines 1"), "{refused}");
        let spec = RunSpec { verify: true, ..RunSpec::default() };
        assert!(
            refuse_what_one_machine_does(&spec).unwrap_err().to_string().contains("--verify is not possible")
        );
    }
}
