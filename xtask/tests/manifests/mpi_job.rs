//! The MPIJob of Kubeflow's MPI operator, version kubeflow.org/v2beta1, for the test of the manifests. The fields and
//! values are those of the custom resource definition (kubeflow/mpi-operator, manifests/base/kubeflow.org_mpijobs.yaml,
//! and its source pkg/apis/kubeflow/v2beta1/types.go). The pods in it are those of `kubernetes`.
#![allow(dead_code, reason = "most fields are only read by serde")]

use std::collections::BTreeMap;

use serde::Deserialize;

use super::kubernetes::PodTemplate;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MpiJobSpec {
    pub slots_per_worker: Option<i32>,
    run_launcher_as_worker: Option<bool>,
    run_policy: Option<RunPolicy>,
    pub mpi_replica_specs: Replicas,
    ssh_auth_mount_path: Option<String>,
    launcher_creation_policy: Option<LauncherCreationPolicy>,
    mpi_implementation: Option<MpiImplementation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunPolicy {
    clean_pod_policy: Option<CleanPodPolicy>,
    ttl_seconds_after_finished: Option<i32>,
    active_deadline_seconds: Option<i64>,
    backoff_limit: Option<i32>,
    scheduling_policy: Option<SchedulingPolicy>,
    suspend: Option<bool>,
    managed_by: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SchedulingPolicy {
    min_available: Option<i32>,
    queue: Option<String>,
    min_resources: Option<BTreeMap<String, String>>,
    priority_class: Option<String>,
    schedule_timeout_seconds: Option<i32>,
}

/// The operator requires a launcher; without workers there would be no rank.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Replicas {
    pub launcher: Replica,
    pub worker: Replica,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Replica {
    pub replicas: Option<i32>,
    pub template: PodTemplate,
    restart_policy: Option<RestartPolicy>,
}

#[derive(Deserialize)]
enum MpiImplementation {
    OpenMPI,
    Intel,
    #[serde(rename = "MPICH")]
    Mpich,
}

#[derive(Deserialize)]
enum LauncherCreationPolicy {
    AtStartup,
    WaitForWorkersReady,
}

#[derive(Deserialize)]
enum CleanPodPolicy {
    None,
    Running,
    All,
}

#[derive(Deserialize)]
enum RestartPolicy {
    Never,
    OnFailure,
}
