//! The MPIJob of Kubeflow's MPI operator, version kubeflow.org/v2beta1, for the test of the manifests. The fields and
//! values are those of the custom resource definition (kubeflow/mpi-operator, manifests/base/kubeflow.org_mpijobs.yaml,
//! and its source pkg/apis/kubeflow/v2beta1/types.go). The pods in it are Kubernetes' own type.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MpiJob {
    api_version: String,
    kind: String,
    metadata: ObjectMeta,
    pub spec: MpiJobSpec,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MpiJobSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots_per_worker: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_launcher_as_worker: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_policy: Option<RunPolicy>,
    pub mpi_replica_specs: Replicas,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssh_auth_mount_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    launcher_creation_policy: Option<LauncherCreationPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mpi_implementation: Option<MpiImplementation>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunPolicy {
    #[serde(skip_serializing_if = "Option::is_none")]
    clean_pod_policy: Option<CleanPodPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_seconds_after_finished: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    active_deadline_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backoff_limit: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduling_policy: Option<SchedulingPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspend: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    managed_by: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SchedulingPolicy {
    #[serde(skip_serializing_if = "Option::is_none")]
    min_available: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_resources: Option<BTreeMap<String, Quantity>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority_class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule_timeout_seconds: Option<i32>,
}

/// The operator requires a launcher; without workers there would be no rank.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Replicas {
    pub launcher: Replica,
    pub worker: Replica,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Replica {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    pub template: PodTemplateSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    restart_policy: Option<RestartPolicy>,
}

#[derive(Deserialize, Serialize)]
enum MpiImplementation {
    OpenMPI,
    Intel,
    #[serde(rename = "MPICH")]
    Mpich,
}

#[derive(Deserialize, Serialize)]
enum LauncherCreationPolicy {
    AtStartup,
    WaitForWorkersReady,
}

#[derive(Deserialize, Serialize)]
enum CleanPodPolicy {
    None,
    Running,
    All,
}

#[derive(Deserialize, Serialize)]
enum RestartPolicy {
    Never,
    OnFailure,
}
