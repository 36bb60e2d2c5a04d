"""@kubernetes/client-node: list, create, patch, watch, an informer and delete, in one small program.

The package is looked for in KAPUT_NODE_MODULES, and in .ci/node, where `.ci/run` puts it.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import orjson
import pytest
from binaries import required

ROOT = Path(__file__).parents[2]
PROGRAM = """
let k8s;
try {
  k8s = await import('@kubernetes/client-node');
} catch (error) {
  console.error(`${error}`);
  process.exit(3);
}
const kc = new k8s.KubeConfig();
kc.loadFromFile(process.argv[2]);
const core = kc.makeApiClient(k8s.CoreV1Api);
const namespace = 'default';
const out = { informed: [], watched: [] };
const path = `/api/v1/namespaces/${namespace}/configmaps`;

const list = () => core.listNamespacedConfigMap({ namespace });
const informer = k8s.makeInformer(kc, path, list);
for (const verb of ['add', 'update', 'delete']) {
  informer.on(verb, (each) => out.informed.push(`${verb} ${each.metadata.name}`));
}
let stopping = false;
informer.on('error', (error) => { if (!stopping) { console.error(error); process.exit(2); } });
await informer.start();

let ended;
const gone = new Promise((resolve) => { ended = resolve; });
const abort = await new k8s.Watch(kc).watch(path, { allowWatchBookmarks: true }, (type, each) => {
  if (type !== 'BOOKMARK') out.watched.push(`${type} ${each.metadata.name}`);
  if (type === 'DELETED') ended();
}, () => {});

const body = { metadata: { name: 'one' }, data: { a: '1' } };
out.created = (await core.createNamespacedConfigMap({ namespace, body })).metadata.uid.length;
const patched = await core.patchNamespacedConfigMap(
  { name: 'one', namespace, body: { data: { b: '2' } } },
  k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch));
out.patched = patched.data;
out.listed = (await list()).items.map((each) => each.metadata.name);
try {
  await core.createNamespacedConfigMap({ namespace, body });
} catch (error) {
  out.exists = [error.code, JSON.parse(error.body).reason];
}
await core.deleteNamespacedConfigMap({ name: 'one', namespace });
await gone;
const deadline = Date.now() + 10000;
while (out.informed.length < 3 && Date.now() < deadline) await new Promise((r) => setTimeout(r, 20));
stopping = true;
abort.abort();
await informer.stop();
console.log(JSON.stringify(out));
process.exit(0);
"""


def node_modules() -> Path:
    for folder in (os.environ.get("KAPUT_NODE_MODULES"), ROOT / ".ci" / "node" / "node_modules"):
        if folder and (Path(folder) / "@kubernetes" / "client-node").is_dir():
            return Path(folder).absolute()
    pytest.skip("no @kubernetes/client-node here: npm install it, and name its node_modules in KAPUT_NODE_MODULES")


def test_list_create_patch_watch_and_an_informer(kubeconfig: Path, tmp_path: Path) -> None:
    node = required("node")
    (tmp_path / "node_modules").symlink_to(node_modules())
    program = tmp_path / "program.mjs"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [node, program, kubeconfig], cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False
    )
    if done.returncode == 3:
        pytest.skip(f"this node does not load @kubernetes/client-node: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    out = orjson.loads(done.stdout)
    assert out == {
        "informed": ["add one", "update one", "delete one"],
        "watched": ["ADDED one", "MODIFIED one", "DELETED one"],
        "created": 36,
        "patched": {"a": "1", "b": "2"},
        "listed": ["one"],
        "exists": [409, "AlreadyExists"],
    }
