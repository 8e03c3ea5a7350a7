"""Where work runs: here, in threads, in processes, on a cluster. Whoever has work receives an
executor.

Internal: it may change in any release.
"""

from hardy.execute.array_processes import ArrayProcesses as ArrayProcesses
from hardy.execute.crew import Crew as Crew
from hardy.execute.executor import Executor as Executor
from hardy.execute.executor import Processes as Processes
from hardy.execute.executor import Serial as Serial
from hardy.execute.executor import Team as Team
from hardy.execute.executor import Threads as Threads
from hardy.execute.executor import count_workers as count_workers
from hardy.execute.executor import executor as executor
from hardy.execute.executor import processors as processors
from hardy.execute.ray_crew import RayCrew as RayCrew
from hardy.execute.ray_group import RayGroup as RayGroup
