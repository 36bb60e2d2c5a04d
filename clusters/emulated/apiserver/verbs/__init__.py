"""What can be done to a resource: get, list, watch, create, update, patch, delete, deletecollection."""
