"""Where unscheduled Pods wait: active, backing off, or unschedulable until an event may help them."""
