"""Speed of hardy against a peer. Importing this package asks the numeric libraries for one thread.

The thread counts are read when those libraries load, so they must be set before the first of them
is imported; child processes inherit them.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"
