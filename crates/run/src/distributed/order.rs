//! The order for a run, which rank 0 sends to the other ranks: all options, servers and scripts that it has resolved,
//! without passwords. Each rank makes the engine's plan from it (`serving`), with connections of its own.

use std::path::PathBuf;

use connect::Target;
use engine::Plan;
use serde::{Deserialize, Serialize};

use crate::spec::copy_files::Digest;
use crate::spec::scripts::{ScriptText, Scripts};
use crate::spec::{RunSpec, Vacuum};

/// A run for the other ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Number of ranks that take part.
    machines: usize,
    /// The load with its seed and scale, without the tasks of rank 0 (vacuum, checks, goals, actions).
    pub(super) spec: RunSpec,
    pub(super) scripts: Vec<OrderedScript>,
    /// The server of the clients.
    pub(super) connection: String,
    /// The name of the clients' sessions, by which the observer knows them.
    pub(super) application_name: Option<String>,
    /// The further servers, by their names in scripts.
    pub(super) targets: Vec<(String, String)>,
    /// The files that the scripts name.
    pub(super) files: Vec<Digest>,
}

/// A script as rank 0 read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OrderedScript {
    name: String,
    /// In any encoding, see `encoding`.
    text: String,
    weight: u32,
    /// The directory of the files that it names.
    folder: PathBuf,
}

impl Order {
    /// The order for a run that rank 0 has resolved, with its seed and scale in the specification. The clients connect to
    /// `clients` under the application name.
    pub(crate) fn of(
        spec: RunSpec,
        machines: usize,
        clients: &Target,
        application_name: Option<String>,
        targets: &[(String, Target)],
        scripts: &Scripts,
    ) -> Order {
        let spec = RunSpec {
            workload: None,
            scripts: Vec::new(),
            vacuum: Vacuum::Nothing,
            check: false,
            until: None,
            goals: Vec::new(),
            stop_on_miss: false,
            targets: Vec::new(),
            machines: None,
            actions: Vec::new(),
            ..spec
        };
        let connection = |(name, target): &(String, Target)| (name.clone(), target.connection_string());
        Order {
            machines,
            spec,
            connection: clients.connection_string(),
            application_name,
            targets: targets.iter().map(connection).collect(),
            scripts: scripts.texts.iter().map(OrderedScript::of).collect(),
            files: scripts.digests(),
        }
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
}

impl OrderedScript {
    fn of(script: &ScriptText) -> Self {
        let ScriptText { name, text, weight, folder, .. } = script;
        let text = encoding::decode(text).into_owned();
        Self { name: name.clone(), text, weight: *weight, folder: folder.clone() }
    }

    pub(super) fn into_text(self) -> ScriptText {
        let text = encoding::encode(&self.text).into_owned();
        ScriptText { folder: self.folder, ..ScriptText::of_file(self.name, text, self.weight) }
    }
}

#[cfg(test)]
mod tests {
    use connect::{Environment, Overrides};

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
        let spec = RunSpec { clients: 8, check: true, seed: Some(7), ..RunSpec::default() };
        let clients = resolve("host=a password=hidden1 user=bob");
        let targets = [("reader".to_owned(), resolve("postgresql://bob:hidden2@b/app?sslpassword=hidden3"))];
        let order = Order::of(spec, 4, &clients, None, &targets, &scripts);
        let json = serde_json::to_string(&order).unwrap();
        assert!(!json.contains("hidden"), "{json}");
        let read: Order = serde_json::from_str(&json).unwrap();
        assert_eq!(read, order);
        assert_eq!((read.machines(), read.spec.clients, read.spec.check), (4, 8, false));
        assert_eq!(read.spec.seed, Some(7));
        assert!(read.connection.contains("host='a'") && read.connection.contains("user='bob'"), "{json}");
        assert!(
            read.targets[0].1.contains("host='b'") && read.targets[0].1.contains("dbname='app'"),
            "{json}"
        );
        let script = read.scripts.into_iter().next().unwrap().into_text();
        assert_eq!((script.text, script.weight, script.name.as_str()), (text, 3, "s.sql"));
    }
}
