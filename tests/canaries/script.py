"""scripts/canary as a module.  It has no suffix, being a command."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "canary"


def load_script() -> Any:
    loader = SourceFileLoader("memsync_scripts_canary", str(SCRIPT))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[loader.name] = module  # where its dataclasses look themselves up
    loader.exec_module(module)
    return module


script = load_script()
