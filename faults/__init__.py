"""The failure table: one folder per hop, one file per fault, found by walking the tree.

    faults.catalogue()                     every entry, by id
    faults.fault("h07_store/fsync-stall")  one of them, with its defaults
    python -m faults                       the table as docs/failure-table.md has it

Files that are no entries (`contract`, `requests`, `symptoms`, `objects`) lie beside the folders. Here belong
descriptions only: how to break a cluster is a lever's, how to look at one is the harness's.
"""

from faults.catalogue import UnknownFaultError, catalogue, fault
from faults.contract import Fault, Runbook

__all__ = ["Fault", "Runbook", "UnknownFaultError", "catalogue", "fault"]
