"""What runs in containers: programs that behave like the real ones, on cluster time and without processes.

`program.py` is the behaviour language, `shell.py` understands command lines, `images.py` knows what well-known
images do by themselves, `box.py` is what a program sees of its container.
"""

from clusters.emulated.kubelet.programs.box import Box, Listener
from clusters.emulated.kubelet.programs.program import Program, ProgramError, StopBehaviour, annotated_program

__all__ = ["Box", "Listener", "Program", "ProgramError", "StopBehaviour", "annotated_program"]
