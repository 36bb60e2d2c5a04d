"""helm: a chart of our own is installed, listed, upgraded, rolled back and uninstalled; values reach the objects."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest
from binaries import required

from clusters.emulated.cluster import EmulatedCluster

CONFIG_MAP = "/api/v1/namespaces/shop/configmaps/front"
CHART = {
    "Chart.yaml": "apiVersion: v2\nname: front\nversion: 1.0.0\nappVersion: '1'\n",
    "values.yaml": "colour: blue\nreplicas: 1\n",
    "crds/crd.yaml": """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: themes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: themes, kind: Theme}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
""",
    "templates/all.yaml": """
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, labels: {kube: "{{ .Capabilities.KubeVersion.Minor }}"}}
data: {colour: "{{ .Values.colour }}"}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec: {selector: {app: front}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: front}}
  template:
    metadata: {labels: {app: front}}
    spec: {containers: [{name: c, image: nginx}]}
---
apiVersion: example.com/v1
kind: Theme
metadata: {name: {{ .Release.Name }}}
spec: {colour: "{{ .Values.colour }}"}
""",
}


class Helm:
    def __init__(self, kubeconfig: Path, home: Path) -> None:
        self.binary = required("helm")
        self.environment = {"PATH": os.environ["PATH"], "KUBECONFIG": str(kubeconfig), "HOME": str(home)}

    def __call__(self, *arguments: str, exit_code: int = 0) -> str:
        done = subprocess.run(
            [str(self.binary), "--namespace", "shop", *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == exit_code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def json(self, *arguments: str) -> Any:
        return orjson.loads(self(*arguments, "-o", "json"))


@pytest.fixture
def chart(tmp_path: Path) -> str:
    for name, text in CHART.items():
        file = tmp_path / "front" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return str(tmp_path / "front")


def test_the_life_of_a_release(emulated: EmulatedCluster, tmp_path: Path, chart: str) -> None:
    helm = Helm(emulated.kubeconfig, tmp_path)
    api = emulated.api
    helm("install", "front", chart, "--create-namespace", "--set", "replicas=2")
    stored = api.get(CONFIG_MAP)
    assert stored["data"] == {"colour": "blue"}
    assert stored["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "Helm", "kube": "36"}
    assert api.get("/apis/example.com/v1/namespaces/shop/themes/front")["spec"] == {"colour": "blue"}
    assert api.get("/apis/apps/v1/namespaces/shop/deployments/front")["spec"]["replicas"] == 2

    helm("upgrade", "front", chart, "--set", "colour=red")
    assert api.get(CONFIG_MAP)["data"] == {"colour": "red"}
    assert [(each["name"], each["revision"], each["status"]) for each in helm.json("list")] == [
        ("front", "2", "deployed")
    ]
    helm("rollback", "front", "1")
    assert api.get(CONFIG_MAP)["data"] == {"colour": "blue"}
    assert [each["status"] for each in helm.json("history", "front")] == ["superseded", "superseded", "deployed"]
    assert "blue" in helm("get", "manifest", "front")

    helm("uninstall", "front", "--wait=false")
    assert helm.json("list") == []
    assert api.get("/api/v1/namespaces/shop/configmaps")["items"] == []
    assert "release: not found" in helm("status", "front", exit_code=1)


def test_an_upgrade_that_the_server_refuses_is_marked_as_failed(
    emulated: EmulatedCluster, tmp_path: Path, chart: str
) -> None:
    helm = Helm(emulated.kubeconfig, tmp_path)
    helm("install", "front", chart, "--create-namespace")
    said = helm("upgrade", "front", chart, "--set", "replicas=-1", exit_code=1)
    assert "spec.replicas: Invalid value: -1: must be greater than or equal to 0" in said
    assert [each["status"] for each in helm.json("list", "--all")] == ["failed"]
    assert emulated.api.get("/apis/apps/v1/namespaces/shop/deployments/front")["spec"]["replicas"] == 1
