//! The fields of Kubernetes' API that the manifests use, with their types, for the test of the manifests. Unknown fields and
//! missing required ones are errors. Before a manifest uses another field, add it here as the reference of the API has it
//! (kubernetes.io/docs/reference/kubernetes-api, checked against version 1.37).
#![allow(dead_code, reason = "most fields are only read by serde")]

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectMeta {
    name: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Object<T> {
    api_version: String,
    kind: String,
    metadata: ObjectMeta,
    pub spec: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimSpec {
    access_modes: Vec<AccessMode>,
    resources: Resources,
}

#[derive(Deserialize)]
#[allow(clippy::enum_variant_names, reason = "the words of Kubernetes")]
enum AccessMode {
    ReadWriteOnce,
    ReadOnlyMany,
    ReadWriteMany,
    ReadWriteOncePod,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JobSpec {
    backoff_limit: Option<i32>,
    active_deadline_seconds: Option<i64>,
    pub template: PodTemplate,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodTemplate {
    metadata: Option<ObjectMeta>,
    pub spec: PodSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodSpec {
    restart_policy: Option<RestartPolicy>,
    automount_service_account_token: Option<bool>,
    termination_grace_period_seconds: Option<i64>,
    security_context: Option<PodSecurity>,
    affinity: Option<Affinity>,
    #[serde(default)]
    pub init_containers: Vec<Container>,
    pub containers: Vec<Container>,
    #[serde(default)]
    pub volumes: Vec<Volume>,
}

#[derive(Deserialize)]
enum RestartPolicy {
    Always,
    Never,
    OnFailure,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PodSecurity {
    run_as_non_root: Option<bool>,
    run_as_user: Option<i64>,
    run_as_group: Option<i64>,
    fs_group: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Affinity {
    pod_anti_affinity: PodAntiAffinity,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PodAntiAffinity {
    required_during_scheduling_ignored_during_execution: Vec<AffinityTerm>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AffinityTerm {
    topology_key: String,
    label_selector: LabelSelector,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LabelSelector {
    match_labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Container {
    pub name: String,
    pub image: Option<String>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    env: Vec<Variable>,
    #[serde(default)]
    ports: Vec<Port>,
    readiness_probe: Option<Probe>,
    resources: Option<Resources>,
    security_context: Option<ContainerSecurity>,
    #[serde(default)]
    pub volume_mounts: Vec<VolumeMount>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Variable {
    name: String,
    value: Option<String>,
    value_from: Option<VariableSource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct VariableSource {
    field_ref: FieldReference,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FieldReference {
    field_path: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Port {
    name: String,
    container_port: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Probe {
    tcp_socket: TcpSocket,
    period_seconds: Option<i32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TcpSocket {
    port: u16,
}

/// Quantities such as `500m` and `1Gi` are texts.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Resources {
    #[serde(default)]
    requests: BTreeMap<String, String>,
    #[serde(default)]
    limits: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ContainerSecurity {
    allow_privilege_escalation: Option<bool>,
    capabilities: Option<Capabilities>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Capabilities {
    drop: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VolumeMount {
    pub name: String,
    mount_path: String,
    read_only: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Volume {
    pub name: String,
    secret: Option<SecretVolume>,
    persistent_volume_claim: Option<ClaimVolume>,
    empty_dir: Option<EmptyVolume>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SecretVolume {
    secret_name: String,
    default_mode: Option<i32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ClaimVolume {
    claim_name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EmptyVolume {}
