"""Custom resources: what a CustomResourceDefinition says becomes resources that are served like any other."""
