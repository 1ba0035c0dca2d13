//! Where a run took place: host, server and how that was built.
//! Used by `document`.

use results::{BuildFingerprint, Conditions, ConnectionInUse, Disk, DiskHolds, ProcessorShares, Record};

use crate::document::Fact;
use crate::figures::{TIE, as_asked, counted, latency, percent};
use crate::figures::{bytes, number};
use crate::prose::escaped_line;

/// Host and server.
pub(crate) fn environment(record: &Record) -> Vec<Fact> {
    let host = &record.environment.host;
    let mut facts = vec![Fact::new("host", escaped_line(&host.hostname))];
    facts.extend(host.os.as_ref().map(|os| Fact::new("system", escaped_line(os))));
    facts.push(Fact::new("kernel", escaped_line(&host.kernel)));
    let model = host.cpu_model.as_ref().map(|model| escaped_line(model)).unwrap_or_default();
    if let Some(processors) = host.cpu_count {
        let available = host.cpu_available.filter(|available| *available != processors);
        let available = available.map(|available| format!(", {available} available")).unwrap_or_default();
        let processors = counted(processors.into(), "processor", "processors");
        facts.push(Fact::new("processors", format!("{processors}{available} {model}").trim_end()));
    }
    facts.extend(host.memory_bytes.map(|memory| Fact::new("memory", bytes(memory as f64))));
    facts.extend(conditions(record));
    facts.extend(disk(record));
    facts.extend(connection(record));
    if let Some(server) = &record.environment.server {
        facts.push(Fact::new("server", format!("PostgreSQL {}", escaped_line(&server.version))));
        if !server.extensions.is_empty() {
            let extensions =
                server.extensions.iter().map(|(name, version)| escaped_line(&format!("{name} {version}")));
            facts.push(Fact::new("extensions", extensions.collect::<Vec<_>>().join(", ")));
        }
    }
    let tables = &record.tables;
    if let Some(scale) = tables.scale {
        let method = tables.partition_method.map_or("", |method| method.name());
        let parts = tables.partitions.filter(|partitions| *partitions > 0);
        let parts = parts.map(|parts| format!(", {parts} {method} partitions")).unwrap_or_default();
        facts.push(Fact::new("tables", format!("scale{TIE}{}{parts}", as_asked(scale.units()))));
    }
    facts.push(Fact::new("started", record.started_at.to_string()));
    facts.push(Fact::new("measured by", format!("pgmeter {}", escaped_line(&record.pgmeter_version))));
    facts
}

/// How the server was built: a few lines of flags.
pub(crate) fn build(record: &Record) -> Vec<Fact> {
    let Some(server) = &record.environment.server else { return Vec::new() };
    let BuildFingerprint { configure, cflags, version } = &server.build;
    let rows =
        [("version", Some(version)), ("configure", configure.as_ref()), ("compiler flags", cflags.as_ref())];
    rows.into_iter().filter_map(|(label, text)| Some(Fact::new(label, escaped_line(text?)))).collect()
}

/// How the client's host was while the run went on.
fn conditions(record: &Record) -> Vec<Fact> {
    let Conditions { governor, clock_source, virtualisation, container, load_average_1m, processors } =
        &record.environment.conditions;
    let words = |text: &Option<String>| text.as_ref().map(|text| escaped_line(text));
    let shares = processors.map(|ProcessorShares { busy, own, stolen }| {
        let (busy, own, stolen) = (percent(busy, 1.0), percent(own, 1.0), percent(stolen, 1.0));
        format!("busy {busy}, of which pgmeter {own}; {stolen} stolen by the hypervisor")
    });
    let rows = [
        ("governor", words(governor)),
        ("clock source", words(clock_source)),
        ("virtual machine", words(virtualisation)),
        ("container", words(container)),
        ("load before the run", load_average_1m.map(number)),
        ("CPUs during the run", shares),
    ];
    Fact::known(rows).collect()
}

/// The disk, and how long it takes to flush.
fn disk(record: &Record) -> Option<Fact> {
    let Disk { holds, path, file_system, device, flush_us, .. } = record.environment.disk.as_ref()?;
    let holds = match holds {
        DiskHolds::Wal => "of the WAL",
        DiskHolds::Data => "of the data",
        DiskHolds::Records => "of the records only",
    };
    let of = |text: &Option<String>| text.as_ref().map(|text| escaped_line(text) + ", ").unwrap_or_default();
    let flush = match flush_us {
        Some(flush) => format!("a flush takes {}", latency(flush.p50)),
        None => "its flush time was not measured".to_owned(),
    };
    Some(Fact::new(
        format!("disk {holds}"),
        format!("{}{}{}, {flush}", of(file_system), of(device), escaped_line(path)),
    ))
}

/// How the clients reached the server.
fn connection(record: &Record) -> Option<Fact> {
    let ConnectionInUse { same_host, tls, protocol_version, .. } = record.environment.connection.as_ref()?;
    let place = if *same_host { "on the same host" } else { "over a network" };
    let tls = match tls {
        Some(tls) => format!("{} with {}", escaped_line(&tls.version), escaped_line(&tls.cipher)),
        None => "no TLS".to_owned(),
    };
    Some(Fact::new("reached", format!("{place}, {tls}, protocol {}", escaped_line(protocol_version))))
}
