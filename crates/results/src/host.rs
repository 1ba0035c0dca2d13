//! Properties of the client's host, from `/proc`, `/etc/os-release` and `uname`. Unknown properties are `None`, because
//! they must not prevent a run. `cli` calls this once per run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cpus_allowed;
use crate::system_files::{memory_bytes, read, value};

/// The host of pgmeter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Host name.
    pub hostname: String,
    /// Distribution and version, such as `Debian GNU/Linux 13 (trixie)`.
    pub os: Option<String>,
    /// Kernel name, release and machine, such as `Linux 6.12.0 x86_64`.
    pub kernel: String,
    /// Model name of the first CPU.
    pub cpu_model: Option<String>,
    /// Logical CPUs of the host.
    pub cpu_count: Option<u32>,
    /// Logical CPUs available to this process (by affinity and CPU quota).
    pub cpu_available: Option<u32>,
    /// CPUs available to this process, with the fraction of a control group's quota.
    pub cpus_allowed: Option<f64>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
}

impl Host {
    /// Asks the operating system.
    pub fn detect() -> Host {
        let uname = rustix::system::uname();
        let text = |field: &std::ffi::CStr| field.to_string_lossy().into_owned();
        let cpuinfo = read("/proc/cpuinfo");
        Host {
            hostname: text(uname.nodename()),
            os: os_name(&read("/etc/os-release")),
            kernel: format!("{} {} {}", text(uname.sysname()), text(uname.release()), text(uname.machine())),
            cpu_model: cpu_model(&cpuinfo),
            cpu_count: cpu_count(&cpuinfo),
            cpu_available: std::thread::available_parallelism()
                .ok()
                .and_then(|n| u32::try_from(n.get()).ok()),
            cpus_allowed: cpus_allowed(std::process::id()),
            memory_bytes: memory_bytes(&read("/proc/meminfo")),
        }
    }
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    // x86 has `model name`, POWER has `cpu`; most ARM kernels provide no model.
    let model = value(cpuinfo, "model name", ':').or_else(|| value(cpuinfo, "cpu", ':'))?;
    Some(model.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|model| !model.is_empty())
}

fn cpu_count(cpuinfo: &str) -> Option<u32> {
    let processors =
        cpuinfo.lines().filter(|line| line.split(':').next().is_some_and(|key| key.trim() == "processor"));
    u32::try_from(processors.count()).ok().filter(|&count| count > 0)
}

fn os_name(os_release: &str) -> Option<String> {
    let name = value(os_release, "PRETTY_NAME", '=').or_else(|| value(os_release, "NAME", '='))?;
    Some(name.trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_has_a_name_and_a_kernel() {
        let host = Host::detect();
        assert!(!host.hostname.is_empty());
        assert_eq!(host.kernel.split(' ').count(), 3);
    }

    #[test]
    fn processors_are_counted_and_named() {
        let cpuinfo =
            "processor\t: 0\nmodel name\t: AMD  EPYC 9654\n\nprocessor\t: 1\nmodel name\t: AMD  EPYC 9654\n";
        assert_eq!(cpu_count(cpuinfo), Some(2));
        assert_eq!(cpu_model(cpuinfo).as_deref(), Some("AMD EPYC 9654"));
        let arm = "processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\n";
        assert_eq!((cpu_count(arm), cpu_model(arm)), (Some(1), None));
        assert_eq!((cpu_count(""), cpu_model("")), (None, None));
    }

    #[test]
    fn the_distribution_is_named_as_it_calls_itself() {
        let os_release = "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n";
        assert_eq!(os_name(os_release).as_deref(), Some("Debian GNU/Linux 13 (trixie)"));
        assert_eq!(os_name("NAME=Arch\n").as_deref(), Some("Arch"));
        assert_eq!(os_name(""), None);
    }
}
