//! The manifests in examples/kubernetes agree with Kubernetes' types, and each part of a manifest with the others. This
//! needs no cluster: `kubernetes` has the fields that the manifests use. `cargo xtask tidy` checks the commands in the
//! manifests.

mod kubernetes;
mod mpi_job;

use std::collections::BTreeSet;
use std::path::Path;

use kubernetes::{ClaimSpec, JobSpec, Object, PodSpec};
use mpi_job::MpiJobSpec;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use yaml_rust2::{Yaml, YamlLoader};

/// Words that are booleans to kubectl, which reads YAML 1.1, and texts to YAML 1.2.
const AMBIGUOUS: [&str; 6] = ["y", "yes", "on", "n", "no", "off"];

/// The documents of a manifest.
fn documents(text: &str) -> Result<Vec<Value>, String> {
    let read = YamlLoader::load_from_str(text).map_err(|error| error.to_string())?;
    read.iter().map(value).collect()
}

/// The value that kubectl sends for a YAML node.
fn value(yaml: &Yaml) -> Result<Value, String> {
    Ok(match yaml {
        Yaml::Null => Value::Null,
        Yaml::Boolean(truth) => Value::from(*truth),
        Yaml::Integer(number) => Value::from(*number),
        Yaml::String(text) if AMBIGUOUS.contains(&text.to_ascii_lowercase().as_str()) => {
            return Err(format!("\"{text}\" is a boolean in YAML 1.1: use another word"));
        }
        Yaml::String(text) => Value::from(text.as_str()),
        Yaml::Array(items) => Value::Array(items.iter().map(value).collect::<Result<_, _>>()?),
        Yaml::Hash(entries) => {
            let entry = |(key, item): (&Yaml, &Yaml)| match key {
                Yaml::String(key) => Ok((key.clone(), value(item)?)),
                other => Err(format!("{other:?} is not a text, but a key")),
            };
            Value::Object(entries.iter().map(entry).collect::<Result<Map<_, _>, String>>()?)
        }
        Yaml::Real(_) | Yaml::Alias(_) | Yaml::BadValue => return Err(format!("unexpected node: {yaml:?}")),
    })
}

/// The document as `T`, which refuses unknown fields.
fn typed<T: DeserializeOwned>(document: &Value) -> Result<T, String> {
    serde_json::from_value(document.clone()).map_err(|error| error.to_string())
}

/// Checks a document by the type that it names. Returns its kind and name.
fn check_document(document: &Value) -> Result<String, String> {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    let checked = match (version, kind) {
        ("batch/v1", "Job") => {
            typed::<Object<JobSpec>>(document).and_then(|job| check_pod(&job.spec.template.spec))
        }
        ("v1", "Pod") => typed::<Object<PodSpec>>(document).and_then(|pod| check_pod(&pod.spec)),
        ("v1", "PersistentVolumeClaim") => typed::<Object<ClaimSpec>>(document).map(drop),
        ("kubeflow.org/v2beta1", "MPIJob") => {
            typed::<Object<MpiJobSpec>>(document).and_then(|job| check_mpi_job(&job.spec))
        }
        _ => Err("no type of this version and kind is known here".to_owned()),
    };
    checked.map_err(|error| format!("{version} {kind} {name}: {error}"))?;
    Ok(format!("{kind} {name}"))
}

/// Conditions on a pod that types cannot express.
fn check_pod(spec: &PodSpec) -> Result<(), String> {
    let volumes: BTreeSet<&str> = spec.volumes.iter().map(|volume| volume.name.as_str()).collect();
    if spec.containers.is_empty() {
        return Err("the pod has no container".to_owned());
    }
    for container in spec.init_containers.iter().chain(&spec.containers) {
        if container.image.is_none() {
            return Err(format!("the container {} has no image", container.name));
        }
        for mount in &container.volume_mounts {
            if !volumes.contains(mount.name.as_str()) {
                return Err(format!(
                    "{} mounts the volume {}, which does not exist",
                    container.name, mount.name
                ));
            }
        }
    }
    Ok(())
}

/// The launcher starts as many ranks as the workers have slots.
fn check_mpi_job(spec: &MpiJobSpec) -> Result<(), String> {
    let slots = spec.slots_per_worker.unwrap_or(1);
    let replicas = &spec.mpi_replica_specs;
    let workers = replicas.worker.replicas.unwrap_or(1);
    let launcher = &replicas.launcher.template.spec;
    let words: Vec<&str> =
        launcher.containers.iter().flat_map(|container| &container.args).map(String::as_str).collect();
    let ranks =
        words.iter().skip_while(|word| **word != "-n").nth(1).ok_or("the launcher has no option -n")?;
    if *ranks != (workers * slots).to_string() {
        return Err(format!(
            "the launcher starts {ranks} ranks, but there are {workers} workers × {slots} slots"
        ));
    }
    check_pod(launcher)?;
    check_pod(&replicas.worker.template.spec)
}

fn manifest(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/kubernetes").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The kinds and names of a manifest, or the first problem.
fn check(text: &str) -> Result<Vec<String>, String> {
    documents(text)?.iter().map(check_document).collect()
}

/// What is wrong after a change of one place of a manifest.
fn check_changed(name: &str, from: &str, to: &str) -> String {
    let text = manifest(name);
    assert!(text.contains(from), "{name} has no {from:?}");
    check(&text.replacen(from, to, 1)).expect_err("the change must be found")
}

#[test]
fn the_manifests_agree_with_the_types_of_kubernetes() {
    let expected: [(&str, &[&str]); 3] = [
        ("job.yaml", &["PersistentVolumeClaim pgmeter-results", "Job pgmeter"]),
        ("mpijob.yaml", &["MPIJob pgmeter-mpi"]),
        ("results.yaml", &["Pod pgmeter-results"]),
    ];
    for (name, objects) in expected {
        assert_eq!(check(&manifest(name)), Ok(objects.iter().map(ToString::to_string).collect()), "{name}");
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/kubernetes");
    let files = std::fs::read_dir(folder).expect("the folder can be read");
    assert_eq!(files.count(), expected.len(), "this test must name all manifests");
}

#[test]
fn a_misspelt_field_of_each_kind_is_found() {
    for (name, from, to, problem) in [
        ("job.yaml", "accessModes", "accessMode", "unknown field `accessMode`"),
        ("job.yaml", "backoffLimit", "backOffLimit", "unknown field `backOffLimit`"),
        ("job.yaml", "fsGroup", "fsgroup", "unknown field `fsgroup`"),
        ("job.yaml", "- name: PGPORT", "- nam: PGPORT", "unknown field `nam`"),
        ("results.yaml", "restartPolicy", "restartpolicy", "unknown field `restartpolicy`"),
        ("mpijob.yaml", "slotsPerWorker", "slotsPerworker", "unknown field `slotsPerworker`"),
        ("mpijob.yaml", "cleanPodPolicy: None", "cleanPodPolicy: Never", "unknown variant `Never`"),
        ("mpijob.yaml", "activeDeadlineSeconds", "activeDeadline", "unknown field `activeDeadline`"),
        ("mpijob.yaml", "    Worker:", "    Workers:", "unknown field `Workers`"),
        ("mpijob.yaml", "readinessProbe", "readynessProbe", "unknown field `readynessProbe`"),
        ("mpijob.yaml", "fieldPath", "fieldpath", "unknown field `fieldpath`"),
    ] {
        let found = check_changed(name, from, to);
        assert!(found.contains(problem), "{name}, {from:?}: {found}");
    }
}

#[test]
fn a_value_of_another_type_and_a_missing_field_are_found() {
    for (name, from, to, problem) in [
        ("job.yaml", "value: \"5432\"", "value: 5432", "invalid type"),
        ("job.yaml", "mountPath: /etc/pgmeter\n", "\n", "missing field `mountPath`"),
        ("job.yaml", "batch/v1", "batch/v2", "no type of this version and kind"),
        ("mpijob.yaml", "replicas: 4", "replicas: four", "invalid type"),
    ] {
        let found = check_changed(name, from, to);
        assert!(found.contains(problem), "{name}, {from:?}: {found}");
    }
}

#[test]
fn parts_of_a_manifest_that_contradict_each_other_are_found() {
    for (name, from, to, problem) in [
        ("job.yaml", "- name: connection", "- name: secrets", "mounts the volume secrets"),
        ("mpijob.yaml", "- name: results", "- name: result", "mounts the volume result,"),
        ("mpijob.yaml", "replicas: 4", "replicas: 3", "starts 4 ranks, but there are 3 workers"),
        ("mpijob.yaml", "slotsPerWorker: 1", "slotsPerWorker: 2", "4 workers × 2 slots"),
        ("results.yaml", "image: registry.example/pgmeter:0.1.0\n", "\n", "has no image"),
    ] {
        let found = check_changed(name, from, to);
        assert!(found.contains(problem), "{name}, {from:?}: {found}");
    }
}

#[test]
fn a_key_given_twice_and_a_word_that_kubectl_reads_otherwise_are_found() {
    assert!(documents("a: 1\na: 2\n").expect_err("a duplicate").contains("duplicated key"));
    assert!(documents("a: off\n").expect_err("ambiguous").contains("boolean in YAML 1.1"));
    assert_eq!(documents("a: [1, \"2\", true]\n"), Ok(vec![serde_json::json!({"a": [1, "2", true]})]));
}
