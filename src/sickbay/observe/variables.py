"""Environment variables: those that the results of a script can depend on, and those that make a run a replay or a trial."""

from __future__ import annotations

from collections.abc import Mapping

REPLAY = "SICKBAY_REPLAY"
"""Set by `sickbay replay`: the step that is wanted."""
TRIAL = "SICKBAY_TRIAL"
"""Set where a run is treated: what is changed in it, and when it ends (see trials/orders.py)."""
NAMES = ("PYTHONHASHSEED", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG", "CUDA_VISIBLE_DEVICES", "PL_GLOBAL_SEED")
PREFIXES = ("PYTORCH_", "TORCH_", "NVIDIA_TF32")
SECRETS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")


def result_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Those of `environ`; none that may hold a secret."""
    return {k: v for k, v in environ.items() if (k in NAMES or k.startswith(PREFIXES)) and not any(s in k for s in SECRETS)}
