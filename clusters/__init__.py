"""How a cluster is had: the contract (`base`), Kubernetes' rules (`kube`) and one package per backend."""
