"""A server on this machine that plays a mirror, and what a fetch leaves in a folder."""

from __future__ import annotations

import gzip
import http.server
import io
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dpdl.tasks.data.catalogue import IDX_FILES
from tests.tasks.mirrored import RAW


@dataclass
class Server:
    """What the server offers, and what was requested."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    requested: list[str] = field(default_factory=list)
    short: bool = False
    slow: threading.Event | None = None


@contextmanager
def running() -> Iterator[Server]:
    """A server that answers until the end of the block."""
    server = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.requested.append(self.path)
            content = server.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            half = len(content) // 2
            self.wfile.write(content[:half])
            self.wfile.flush()
            if server.slow is not None:
                server.slow.wait(20)
            if not server.short:
                self.wfile.write(content[half:])

        def log_message(self, format: str, *args: object) -> None:
            pass

    http_server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    answer = http_server.serve_forever
    thread = threading.Thread(target=answer, kwargs={"poll_interval": 0.02})
    thread.start()
    server.url = f"http://127.0.0.1:{http_server.server_port}"
    try:
        yield server
    finally:
        http_server.shutdown()
        http_server.server_close()
        thread.join()


def serve(server: Server, prefix: str = "/mnist", **changes: bytes) -> None:
    """Offer the tiny MNIST below a path, with some files replaced."""
    for name in IDX_FILES:
        server.files[f"{prefix}/{name}.gz"] = gzip.compress(RAW[name])
    for name, content in changes.items():
        server.files[f"{prefix}/{name}"] = content


def left_over(folder: Path) -> list[str]:
    """The names in a folder that may not be there."""
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def tar(path: Path, files: dict[str, bytes], mode: str = "w:gz") -> Path:
    """An archive of these files."""
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path
