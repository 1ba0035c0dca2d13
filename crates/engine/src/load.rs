//! Data that all workers read during a run: the plan, and values derived from it before connecting. All random streams
//! are seeded here from the plan's seed, in pgbench's order (reference, section 20): the clients' streams,
//! `:default_seed`, then three streams for each worker. An open loop, except in pgbench's compatibility, also has one
//! stream of gaps and one stream for each arrival. Of several ranks, worker w of rank r of n has the streams of worker
//! r + w·n of a single process. So the transactions do not depend on the numbers of ranks and workers, except in a closed
//! loop with several scripts, where the workers' streams select the scripts.

use std::collections::BTreeSet;
use std::time::Duration;

use script::{Command, CommandKind, Program, Random, Slot, Symbols, Value, Variables};

use stats::rate::{ArrivalTimes, RateCurve, client_starts_s};
use stats::{CommandTable, Timestamp};

use crate::arrivals::{Arrivals, Deal, Stream};
use crate::part::{ClientNumbers, Part};
use crate::plan::{Compatibility, LoadChanges, Plan, ReconnectTarget, ScriptPlan};
use crate::statement_effects;
use crate::statements::Statements;
use crate::tracer::WorkerIntro;

/// Distinguishes a client's stream of hosts from that of its scripts: "hosts", as bytes. pgbench's streams stay
/// unchanged.
const HOST_DRAWS: u64 = u64::from_be_bytes(*b"\0\0\0hosts");
/// Distinguishes a client's stream of pauses before it connects again.
const PAUSE_DRAWS: u64 = u64::from_be_bytes(*b"\0\0pauses");
/// Distinguishes a client's stream of think times.
const THINK_DRAWS: u64 = u64::from_be_bytes(*b"\0\0\0think");
/// Distinguishes a client's stream of session lifetimes.
const LIFETIME_DRAWS: u64 = u64::from_be_bytes(*b"lifetime");
/// Distinguishes the stream of the gaps between arrivals from all others of the seed.
const GAP_DRAWS: u64 = u64::from_be_bytes(*b"\0\0\0\0gaps");
/// Distinguishes the streams of the arrivals from all others of the seed.
const ARRIVAL_DRAWS: u64 = u64::from_be_bytes(*b"arrivals");

/// The load, ready to run.
#[derive(Debug)]
pub(crate) struct Load<'p> {
    pub(crate) plan: &'p Plan,
    /// The scripts' variables, user-defined and automatic.
    pub(crate) symbols: Symbols,
    pub(crate) statements: Statements,
    pub(crate) default_seed: i64,
    pub(crate) workers: Vec<Share>,
    /// The targets of each client's connections, one for each that a script uses.
    pub(crate) links: Vec<usize>,
    /// The variable with the time of a transaction, if a script uses it.
    pub(crate) transaction_time: Option<Slot>,
    /// For each script, the index of its connection.
    pub(crate) script_links: Vec<usize>,
    /// For each script, whether it has no SQL: a client runs it at once, and it only changes variables. No script, if one
    /// uses the time.
    pub(crate) only_computes: Vec<bool>,
    /// For each script, whether it has statements that write.
    pub(crate) writes: Vec<bool>,
    /// Whether one of them has.
    pub(crate) any_writes: bool,
    client_seeds: Vec<u64>,
    /// Seed of the first arrival; the following ones count up from it.
    arrival_seed: u64,
    total_weight: u64,
    automatic: Automatic,
}

/// One worker's part.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    /// Number of the worker within its rank.
    pub(crate) number: usize,
    /// Numbers of its clients: contiguous blocks of the rank's, the first workers get the extra ones.
    pub(crate) clients: ClientNumbers,
    /// Selects the next script.
    pub(crate) chooser: Random,
    /// Generates the gaps between scheduled starts, in pgbench's compatibility.
    pub(crate) throttle: Random,
    /// For the tracer: selects the transactions to log.
    pub(crate) sampler: Random,
}

#[derive(Debug)]
struct Automatic {
    scale: Slot,
    client_id: Slot,
    default_seed: Slot,
    random_seed: Slot,
}

impl<'p> Load<'p> {
    /// Of several ranks, each has the streams of its own clients. Worker w of rank r of n has the streams that worker
    /// r + w·n of a single process would have. So in an open loop, and in a closed loop with one script, the transactions
    /// do not depend on the number of ranks or workers. In a closed loop with several scripts, the workers' streams select
    /// the scripts, and the selection depends on both.
    pub(crate) fn of(plan: &'p Plan) -> Self {
        let mut symbols = plan.symbols.clone();
        let automatic = Automatic {
            scale: symbols.intern("scale"),
            client_id: symbols.intern("client_id"),
            default_seed: symbols.intern("default_seed"),
            random_seed: symbols.intern("random_seed"),
        };
        for (name, _) in &plan.variables {
            symbols.intern(name);
        }
        let mut base = Random::from_seed(plan.seed);
        let client_seeds = (0..plan.clients).map(|_| base.next_u64()).collect();
        let defined = plan.variables.iter().any(|(name, _)| name == "default_seed");
        let default_seed = if defined { 0 } else { base.next_u64().cast_signed() };
        let workers = deal(plan.part.clients(plan.clients), plan.workers)
            .enumerate()
            .map(|(number, within)| {
                // Those of the other ranks' workers before this one.
                let skipped = if number == 0 { plan.part.rank } else { plan.part.ranks - 1 };
                (0..3 * skipped).for_each(|_| _ = base.next_u64());
                let [chooser, throttle, sampler] = [(); 3].map(|()| Random::from_seed(base.next_u64()));
                let clients = ClientNumbers::new(plan.part, within);
                Share { number, clients, chooser, throttle, sampler }
            })
            .collect();
        let statements = Statements::of(&plan.scripts);
        let links = links(&plan.scripts);
        let link_of =
            |script: &ScriptPlan| links.iter().position(|target| *target == script.target).unwrap_or(0);
        let script_links = plan.scripts.iter().map(link_of).collect();
        let is_prompt = |command: &Command| match &command.kind {
            CommandKind::Set(_) => true,
            CommandKind::Sleep(sleep) => sleep.is_none(),
            _ => false,
        };
        let transaction_time = symbols.transaction_time();
        let computes = |script: &ScriptPlan| {
            transaction_time.is_none() && script.program.commands().iter().all(is_prompt)
        };
        let only_computes = plan.scripts.iter().map(computes).collect();
        let writes: Vec<_> =
            plan.scripts.iter().map(|script| script.weight > 0 && writes(&script.program)).collect();
        Self {
            plan,
            symbols,
            statements,
            default_seed,
            workers,
            links,
            transaction_time,
            script_links,
            only_computes,
            any_writes: writes.contains(&true),
            writes,
            client_seeds,
            arrival_seed: Random::from_seed(plan.seed ^ ARRIVAL_DRAWS).next_u64(),
            total_weight: plan.total_weight(),
            automatic,
        }
    }

    /// How clients connect again to a target.
    pub(crate) fn reconnect_target(&self, target: usize) -> Option<&'p ReconnectTarget> {
        self.plan.reconnecting.as_ref()?.targets.get(target)
    }

    /// The settings that the sessions of a link must have.
    pub(crate) fn session_settings(&self, link: usize) -> &'p [(String, String)] {
        self.plan.session_settings.get(self.links[link]).map_or(&[], Vec::as_slice)
    }

    /// The driver's number for a connection of a worker's client.
    #[inline]
    pub(crate) fn connection(&self, slot: usize, link: usize) -> usize {
        slot * self.links.len() + link
    }

    /// The client's slot and the link of a connection.
    #[inline]
    pub(crate) fn slot_and_link(&self, connection: usize) -> (usize, usize) {
        (connection / self.links.len(), connection % self.links.len())
    }

    /// All connections of a worker's client.
    pub(crate) fn connections_of(&self, slot: usize) -> std::ops::Range<usize> {
        self.connection(slot, 0)..self.connection(slot + 1, 0)
    }

    /// The facts about a worker for its tracer.
    pub(crate) fn introduce(&self, number: usize, start: Timestamp) -> WorkerIntro {
        let Share { clients, sampler, .. } = &self.workers[number];
        WorkerIntro { number, clients: *clients, sampler: sampler.clone(), start }
    }

    /// The arrivals of one worker, from `start` on.
    pub(crate) fn arrivals(&self, worker: usize, start: Timestamp) -> Arrivals {
        let workers = self.workers.len();
        if self.plan.compatibility == Compatibility::Pgbench {
            let own =
                |rate_per_s| Stream::own(rate_per_s, workers, self.workers[worker].throttle.clone(), start);
            return Arrivals::of(self.plan.rate_per_s.map(own));
        }
        let Part { rank, ranks } = self.plan.part;
        let clients = self.plan.part.clients(self.plan.clients) as u64;
        let (worker, workers) = (worker as u64, workers as u64);
        let deal = Deal { rank: rank as u64, ranks: ranks as u64, worker, workers, clients };
        let random = Random::from_seed(self.plan.seed ^ GAP_DRAWS);
        let LoadChanges { rate, law, .. } = &self.plan.changes;
        let curve = match (rate, self.plan.rate_per_s) {
            (None, None) => return Arrivals::of(None),
            (None, Some(rate_per_s)) if law.is_poisson() => {
                return Arrivals::of(Some(Stream::dealt(rate_per_s, deal, random, start)));
            }
            (None, Some(rate_per_s)) => &RateCurve::constant(rate_per_s),
            (Some(curve), _) => curve,
        };
        let times = ArrivalTimes::new(curve, *law, self.plan.warmup.as_secs_f64());
        Arrivals::of(Some(Stream::dealt_at(times, deal, random, start)))
    }

    /// When a client of a worker may start transactions: `at` itself, a later time, or `None` if it may not any more.
    /// `at` and the answer are times since measuring began; the rate of the first stage also holds before.
    pub(crate) fn client_works_at(&self, worker: usize, slot: usize, at_s: f64) -> Option<f64> {
        let Part { rank, ranks } = self.plan.part;
        // Stages begin with the first clients of all workers, so that these share the work.
        let place = (slot * self.workers.len() + worker) * ranks + rank;
        client_starts_s(&self.plan.changes.clients, u32::try_from(place).unwrap_or(u32::MAX), at_s)
    }

    /// The random stream of one arrival: it selects the script, then supplies the script's random numbers.
    pub(crate) fn draws_of_arrival(&self, number: u64) -> Random {
        Random::from_seed(self.arrival_seed.wrapping_add(number))
    }

    /// Selects a script by its weight at a time of the run; with a single script no random number is drawn.
    #[inline]
    pub(crate) fn choose_script(&self, random: &mut Random, since_measuring: Duration) -> usize {
        let (scripts, mixes) = (&self.plan.scripts, &self.plan.changes.mixes);
        if scripts.len() == 1 {
            return 0;
        }
        if mixes.is_empty() {
            return choose(scripts.iter().map(|script| script.weight), self.total_weight, random);
        }
        let later = mixes.partition_point(|mix| mix.from <= since_measuring);
        let weights = &mixes[later.saturating_sub(1)].weights;
        let total = weights.iter().map(|weight| u64::from(*weight)).sum();
        choose(weights.iter().copied(), total, random)
    }

    /// An empty table of command statistics. Commands that wait for the server have histograms.
    pub(crate) fn command_table(&self) -> CommandTable {
        let waits =
            |command: &Command| matches!(command.kind, CommandKind::Sql(_) | CommandKind::EndPipeline);
        let scripts = self.plan.scripts.iter();
        CommandTable::timing(scripts.map(|script| script.program.commands().iter().map(waits)))
    }

    /// The same for transactions that are not measured.
    pub(crate) fn unmeasured_command_table(&self) -> CommandTable {
        CommandTable::new(self.plan.scripts.iter().map(|script| script.program.commands().len()))
    }

    /// The variables of a client before its first transaction.
    pub(crate) fn variables(&self, number: usize) -> Variables {
        let mut variables = Variables::new(&self.symbols);
        let automatic = [
            (self.automatic.scale, self.plan.scale),
            (self.automatic.client_id, i64::try_from(number).unwrap_or(i64::MAX)),
            (self.automatic.default_seed, self.default_seed),
            (self.automatic.random_seed, self.plan.seed.cast_signed()),
        ];
        for (slot, value) in automatic {
            variables.set(slot, Value::Int(value));
        }
        for (name, text) in &self.plan.variables {
            if let Some(slot) = self.symbols.lookup(name) {
                variables.set_text(slot, text);
            }
        }
        variables
    }

    /// A client's random stream of think times.
    pub(crate) fn think_draws_of_client(&self, number: usize) -> Random {
        Random::from_seed(self.client_seeds[number] ^ THINK_DRAWS)
    }

    /// A client's random stream of session lifetimes.
    pub(crate) fn lifetime_draws_of_client(&self, number: usize) -> Random {
        Random::from_seed(self.client_seeds[number] ^ LIFETIME_DRAWS)
    }

    /// A client's random streams: of its scripts, of its hosts, and of its pauses before it connects again.
    pub(crate) fn draws_of_client(&self, number: usize) -> [Random; 3] {
        [0, HOST_DRAWS, PAUSE_DRAWS].map(|stream| Random::from_seed(self.client_seeds[number] ^ stream))
    }
}

/// The index of a weight, chosen with the probability of its share of the total.
fn choose(weights: impl Iterator<Item = u32>, total: u64, random: &mut Random) -> usize {
    let mut drawn = random.range(total - 1);
    for (index, weight) in weights.enumerate() {
        let weight = u64::from(weight);
        if drawn < weight {
            return index;
        }
        drawn -= weight;
    }
    unreachable!("a draw below the total weight falls into one of the weights")
}

/// Whether a script has a statement that writes, by its first word.
fn writes(program: &Program) -> bool {
    program.commands().iter().any(|command| match &command.kind {
        CommandKind::Sql(sql) => statement_effects::writes(sql.numbered_text()),
        _ => false,
    })
}

/// The targets of scripts with a weight, in order.
fn links(scripts: &[ScriptPlan]) -> Vec<usize> {
    let chosen = scripts.iter().filter(|script| script.weight > 0);
    let targets: BTreeSet<usize> = chosen.map(|script| script.target).collect();
    targets.into_iter().collect()
}

/// Distributes clients over workers: each gets the remaining clients divided by the remaining workers, rounded up.
/// Workers without clients are not started.
fn deal(clients: usize, workers: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let workers = workers.min(clients);
    let mut next = 0;
    (0..workers).map(move |worker| {
        let count = (clients - next).div_ceil(workers - worker);
        next += count;
        next - count..next
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_dealt_in_blocks_and_the_first_workers_get_the_extra_ones() {
        assert_eq!(deal(7, 3).collect::<Vec<_>>(), [0..3, 3..5, 5..7]);
        assert_eq!(deal(2, 8).collect::<Vec<_>>(), [0..1, 1..2]);
        assert_eq!(deal(6, 1).last(), Some(0..6));
    }
}
