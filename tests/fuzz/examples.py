"""Valid objects of many kinds, to be spoilt: where they are created, and a body."""

from __future__ import annotations

from typing import Any, Final

NAMESPACE: Final = "fuzz"

_POD = {
    "serviceAccountName": "default",
    "automountServiceAccountToken": False,
    "terminationGracePeriodSeconds": 0,
    "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
            }
        }
    },
    "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "c", "configMap": {"name": "c"}}],
    "initContainers": [{"name": "i", "image": "x", "restartPolicy": "Always"}],
    "containers": [
        {
            "name": "c",
            "image": "x",
            "ports": [{"containerPort": 80, "protocol": "TCP"}],
            "env": [
                {"name": "A", "value": "b"},
                {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            ],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m"}},
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
            "livenessProbe": {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5},
            "securityContext": {"runAsUser": 1, "capabilities": {"drop": ["ALL"]}},
        }
    ],
}
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": _POD}
_SELECTOR = {"matchLabels": {"a": "b"}}
_JOB = {"template": {"spec": {**_POD, "restartPolicy": "Never"}}, "backoffLimit": 2}
_RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}

_SPECS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "Pod": ("api/v1", "pods", {"spec": _POD}),
    "ConfigMap": ("api/v1", "configmaps", {"data": {"a": "b"}, "binaryData": {"c": "AA=="}, "immutable": False}),
    "Secret": ("api/v1", "secrets", {"data": {"a": "AA=="}, "stringData": {"b": "c"}, "type": "Opaque"}),
    "Service": (
        "api/v1",
        "services",
        {"spec": {"selector": {"a": "b"}, "ports": [{"port": 80, "targetPort": "http"}]}},
    ),
    "ServiceAccount": ("api/v1", "serviceaccounts", {"secrets": [{"name": "s"}]}),
    "PersistentVolumeClaim": (
        "api/v1",
        "persistentvolumeclaims",
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "s",
            }
        },
    ),
    "LimitRange": (
        "api/v1",
        "limitranges",
        {"spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "2Gi"}}]}},
    ),
    "ResourceQuota": ("api/v1", "resourcequotas", {"spec": {"hard": {"count/widgets.example.com": "10"}}}),
    "Endpoints": ("api/v1", "endpoints", {"subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}]}),
    "Event": (
        "api/v1",
        "events",
        {"involvedObject": {"kind": "Pod", "name": "p", "namespace": NAMESPACE}, "reason": "r"},
    ),
    "Deployment": (
        "apis/apps/v1",
        "deployments",
        {"spec": {"replicas": 1, "selector": _SELECTOR, "template": _TEMPLATE}},
    ),
    "StatefulSet": (
        "apis/apps/v1",
        "statefulsets",
        {"spec": {"serviceName": "s", "selector": _SELECTOR, "template": _TEMPLATE}},
    ),
    "DaemonSet": ("apis/apps/v1", "daemonsets", {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}}),
    "Job": ("apis/batch/v1", "jobs", {"spec": _JOB}),
    "CronJob": ("apis/batch/v1", "cronjobs", {"spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": _JOB}}}),
    "Ingress": (
        "apis/networking.k8s.io/v1",
        "ingresses",
        {
            "spec": {
                "rules": [
                    {
                        "host": "a.example",
                        "http": {
                            "paths": [
                                {
                                    "path": "/",
                                    "pathType": "Prefix",
                                    "backend": {"service": {"name": "s", "port": {"number": 80}}},
                                }
                            ]
                        },
                    }
                ]
            }
        },
    ),
    "NetworkPolicy": (
        "apis/networking.k8s.io/v1",
        "networkpolicies",
        {
            "spec": {
                "podSelector": _SELECTOR,
                "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 80}]}],
            }
        },
    ),
    "HorizontalPodAutoscaler": (
        "apis/autoscaling/v2",
        "horizontalpodautoscalers",
        {
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
                "maxReplicas": 3,
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
                    }
                ],
            }
        },
    ),
    "PodDisruptionBudget": (
        "apis/policy/v1",
        "poddisruptionbudgets",
        {"spec": {"minAvailable": "50%", "selector": _SELECTOR}},
    ),
    "Role": ("apis/rbac.authorization.k8s.io/v1", "roles", {"rules": [_RULE]}),
    "RoleBinding": (
        "apis/rbac.authorization.k8s.io/v1",
        "rolebindings",
        {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            "subjects": [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}],
        },
    ),
    "Lease": (
        "apis/coordination.k8s.io/v1",
        "leases",
        {"spec": {"holderIdentity": "h", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}},
    ),
    "EndpointSlice": (
        "apis/discovery.k8s.io/v1",
        "endpointslices",
        {"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"]}], "ports": [{"port": 80, "name": "http"}]},
    ),
    "ResourceClaim": (
        "apis/resource.k8s.io/v1",
        "resourceclaims",
        {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}},
    ),
    "Widget": ("apis/example.com/v1", "widgets", {"spec": {"size": 3, "tags": ["a"], "owner": {"name": "o"}}}),
}

WIDGETS: Final = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "x-kubernetes-validations": [{"rule": "self.size < 100", "message": "too big"}],
                                "required": ["size"],
                                "properties": {
                                    "size": {"type": "integer", "minimum": 1},
                                    "tags": {
                                        "type": "array",
                                        "items": {"type": "string", "maxLength": 5},
                                        "x-kubernetes-list-type": "set",
                                    },
                                    "owner": {"type": "object", "additionalProperties": {"type": "string"}},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}

KINDS: Final = tuple(sorted(_SPECS))


def collection(kind: str) -> str:
    version, resource, _ = _SPECS[kind]
    return f"/{version}/namespaces/{NAMESPACE}/{resource}"


def example(kind: str, name: str) -> dict[str, Any]:
    version, _, rest = _SPECS[kind]
    group_version = version.partition("/")[2]
    metadata = {"name": name, "labels": {"l": "v"}, "annotations": {"n": "v"}}
    return {"apiVersion": group_version, "kind": kind, "metadata": metadata, **rest}
