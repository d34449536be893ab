"""The process in which a local model lives; started by `local_model`, not by hand.

It serves until its standard input ends. That happens when its starter stops it, and
as well when the starter is killed: no process and no port is ever left behind. It
imports nothing of ctxlab, so that it starts at once.

Left out: everything a caller sees (`local_model`). Lesson: 13_run_real_models.
"""

import json
import signal
import sys
from importlib import import_module
from typing import Any


def serve(settings: dict[str, Any]) -> None:
    """Load the model, print its address as one line, serve until stdin ends.

    Args:
        settings: `path` of the GGUF, `window` in tokens, `parallel` requests,
            `template` of the chat (None: the model's own), `threads`.
    """
    xllamacpp: Any = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["name"]}
    # llama.cpp divides its context between the requests it serves at once.
    params.n_ctx = settings["window"] * settings["parallel"]
    params.n_parallel = settings["parallel"]
    params.port = 0  # the system picks a free one
    params.cache_ram_mib = 0  # the cache of the slots is enough, and repeatable
    if settings["template"]:
        params.chat_template = settings["template"]
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    # Ctrl-C in a terminal reaches this process too; whoever started it decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(json.loads(sys.argv[1]))
