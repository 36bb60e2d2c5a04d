"""client-go: an informer, server-side apply with its conflict, watch bookmarks and leader election, in one program.

It is compiled from the text below against the newest client-go in Go's module cache; nothing is downloaded.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import orjson
import pytest
from binaries import required

PROGRAM = """
package main

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	must(err)
	config.ContentType = os.Args[2]
	client := kubernetes.NewForConfigOrDie(config)
	maps := client.CoreV1().ConfigMaps("default")
	out := map[string]any{}

	var lock sync.Mutex
	informed := []string{}
	gone := make(chan struct{})
	note := func(verb string, obj any) {
		lock.Lock()
		defer lock.Unlock()
		informed = append(informed, verb+" "+obj.(*corev1.ConfigMap).Name)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
	informer := factory.Core().V1().ConfigMaps().Informer()
	informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { note("add", obj) },
		UpdateFunc: func(_, obj any) { note("update", obj) },
		DeleteFunc: func(obj any) { note("delete", obj); close(gone) },
	})
	factory.Start(ctx.Done())
	out["synced"] = cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)

	apply := func(manager, value string, force bool) error {
		wanted := applycorev1.ConfigMap("one", "default").WithData(map[string]string{"a": value})
		_, err := maps.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: manager, Force: force})
		return err
	}
	must(apply("first", "1", false))
	conflict := apply("second", "2", false)
	out["conflict"] = apierrors.IsConflict(conflict)
	must(apply("second", "2", true))

	sends := true
	watching, err := client.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{
		SendInitialEvents: &sends, AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	must(err)
	kinds := []string{}
	for event := range watching.ResultChan() {
		kinds = append(kinds, string(event.Type))
		if event.Type == "BOOKMARK" {
			out["initialEventsEnd"] = event.Object.(*corev1.ConfigMap).Annotations["k8s.io/initial-events-end"]
			break
		}
	}
	watching.Stop()
	out["watched"] = kinds
	must(maps.Delete(ctx, "one", metav1.DeleteOptions{}))
	<-gone
	lock.Lock()
	out["informed"] = informed
	lock.Unlock()

	led := []string{}
	for _, identity := range []string{"a", "b"} {
		leading, release := context.WithCancel(ctx)
		leaderelection.RunOrDie(leading, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Name: "leader", Namespace: "default"},
				Client:     client.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
			},
			ReleaseOnCancel: true,
			LeaseDuration:   5 * time.Second, RenewDeadline: 3 * time.Second, RetryPeriod: 200 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { led = append(led, identity); release() },
				OnStoppedLeading: func() {},
			},
		})
		release()
	}
	out["led"] = led
	must(json.NewEncoder(os.Stdout).Encode(out))
}
"""


def cached_versions(go: Path) -> list[str]:
    """The released client-go versions in the module cache, newest first."""
    modules = subprocess.run([go, "env", "GOMODCACHE"], capture_output=True, text=True, timeout=30, check=True)
    found = Path(modules.stdout.strip(), "k8s.io").glob("client-go@v0.*")
    versions = [each.name.partition("@")[2] for each in found if re.fullmatch(r"client-go@v0\.\d+\.\d+", each.name)]
    return sorted(versions, key=lambda version: [int(part) for part in version[1:].split(".")], reverse=True)


def build(go: Path, version: str, folder: Path) -> subprocess.CompletedProcess[str]:
    modules = "".join(f"require k8s.io/{name} {version}\n" for name in ("api", "apimachinery", "client-go"))
    (folder / "go.mod").write_text(f"module example.com/program\n\ngo 1.25.0\n\n{modules}")
    (folder / "main.go").write_text(PROGRAM)
    offline = {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOSUMDB": "off", "GOTOOLCHAIN": "local"}
    return subprocess.run(
        [go, "build", "-o", "program", "."],
        cwd=folder,
        env={**os.environ, **offline},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    go = required("go")
    for version in cached_versions(go):
        folder = tmp_path_factory.mktemp("client-go")
        built = build(go, version, folder)
        if "module lookup disabled by GOPROXY=off" in built.stderr:
            continue  # Something that it needs was never downloaded.
        assert built.returncode == 0, built.stderr
        return folder / "program"
    pytest.skip("no client-go in Go's module cache with all that it needs")


@pytest.mark.parametrize("media_type", ["application/json", "application/vnd.kubernetes.protobuf"])
def test_informer_apply_bookmark_and_leader_election(program: Path, kubeconfig: Path, media_type: str) -> None:
    ran = subprocess.run([program, kubeconfig, media_type], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert orjson.loads(ran.stdout) == {
        "synced": True,
        "conflict": True,
        "watched": ["ADDED", "BOOKMARK"],
        "initialEventsEnd": "true",
        "informed": ["add one", "update one", "delete one"],
        "led": ["a", "b"],
    }
