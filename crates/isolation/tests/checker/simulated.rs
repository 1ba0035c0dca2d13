//! Simulated stores: a level is never accused of an anomaly that it forbids, and shows those that it permits.
//! The stores are those of the example `check_rate`.

use pgmeter_isolation::{Anomaly, Findings, Level, check};
use proptest::prelude::*;

use crate::simulation::Simulation;

fn findings(simulation: Simulation) -> Findings {
    check(&simulation.history(), simulation.level).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testkit::extent::choose(10, 24)))]

    #[test]
    fn a_serializable_store_has_no_anomaly(
        seed in any::<u64>(), clients in 1_usize..20, unknown_one_in in prop_oneof![Just(0_u64), 5_u64..50]
    ) {
        let simulation = Simulation::new(Level::Serializable, seed, 300);
        let found = findings(Simulation { clients, unknown_one_in, ..simulation });
        prop_assert_eq!(&found.anomalies, &[], "{:?}", found);
        prop_assert!(found.endings.committed > 50, "{:?}", found.endings);
    }

    #[test]
    fn a_store_with_snapshot_isolation_has_g2_alone(seed in any::<u64>(), unknown_one_in in prop_oneof![Just(0_u64), 5_u64..50]) {
        let simulation = Simulation { unknown_one_in, ..Simulation::new(Level::RepeatableRead, seed, 1_000) };
        let found = findings(simulation);
        let kinds: Vec<Anomaly> = found.anomalies.iter().map(|finding| finding.anomaly).collect();
        prop_assert_eq!(kinds, [Anomaly::WriteSkew]);
        prop_assert!(found.is_kept());
        // The same history does not keep SERIALIZABLE.
        prop_assert!(!check(&simulation.history(), Level::Serializable).unwrap().is_kept());
    }

    #[test]
    fn a_read_committed_store_has_neither_g0_nor_g1(seed in any::<u64>()) {
        let found = findings(Simulation::new(Level::ReadCommitted, seed, 500));
        prop_assert!(found.is_kept(), "{:?}", found.anomalies);
        prop_assert!(found.cases(Anomaly::LostUpdate) > 0 && found.cases(Anomaly::ReadSkew) > 0);
    }

    #[test]
    fn a_replica_that_sees_commits_in_another_order_shows_long_forks(seed in any::<u64>()) {
        for level in [Level::RepeatableRead, Level::Serializable] {
            let simulation = Simulation { has_replica: true, ..Simulation::new(level, seed, 2_000) };
            let found = findings(simulation);
            let skews = found.cases(Anomaly::ReadSkew) + found.cases(Anomaly::LongFork);
            prop_assert!(skews > 0 && !found.is_kept(), "{:?}", found.anomalies);
            prop_assert!(found.anomalies.iter().filter(|finding| finding.is_forbidden).all(|finding| finding.needs_replica));
        }
    }
}

#[test]
fn the_work_of_a_check_is_linear_in_the_history() {
    for level in [Level::ReadCommitted, Level::RepeatableRead, Level::Serializable] {
        let per_transaction = [1_000, 4_000, 16_000].map(|transactions| {
            let found = findings(Simulation::new(level, 3, transactions));
            found.steps as f64 / f64::from(transactions)
        });
        let [small, _, large] = per_transaction;
        // The same per transaction, whatever the length of the history and the number of its anomalies.
        assert!((0.8..1.25).contains(&(large / small)), "{level:?}: {per_transaction:?}");
        assert!(large < 500.0, "{level:?}: {per_transaction:?}");
    }
}
