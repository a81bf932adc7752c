#!/usr/bin/env python3
"""Writes the image that a Dockerfile FROM scratch describes as an archive for `docker load`, `podman load` and
`ctr images import`.

Such a file only says which files of a folder go where. An image builder would be 14 packages and need user namespaces
to copy two files; this needs nothing but Python, and the same files give the same bytes: all times are zero, all
owners root. Everything but FROM scratch, COPY FILE /PATH, USER, EXPOSE, ENV, CMD and ENTRYPOINT (JSON form) is refused,
so that the Dockerfile stays the one description of the image.

Format: the archive of `docker save` (manifest.json), https://github.com/moby/docker-image-spec, v1.
"""

import argparse
import hashlib
import io
import json
import pathlib
import platform
import sys
import tarfile


def main():
    parser = argparse.ArgumentParser(description="write the image of a Dockerfile FROM scratch as an archive")
    parser.add_argument("--file", required=True, type=pathlib.Path, help="the Dockerfile")
    parser.add_argument("--reference", required=True, help="name and tag of the image")
    parser.add_argument("context", type=pathlib.Path, help="folder of the files that it copies")
    parser.add_argument("archive", type=pathlib.Path, help="file to write")
    arguments = parser.parse_args()
    try:
        config, copies = read(arguments.file.read_text())
        write(arguments.archive, arguments.reference, config, layer(arguments.context, copies))
    except (OSError, ValueError) as error:
        sys.exit(f"archive: {arguments.file}: {error}")


def read(text):
    """Container configuration and list of (source, target) of a Dockerfile."""
    config, copies, started = {}, [], False
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split(None, 1)
        if not words or line.startswith("#"):
            continue
        instruction, rest = words[0], words[1] if len(words) > 1 else ""
        if instruction == "FROM" and rest == "scratch" and not started:
            started = True
        elif not started:
            raise ValueError(f"line {number}: must begin with FROM scratch")
        elif instruction == "COPY" and len(rest.split()) == 2 and rest.split()[1].startswith("/"):
            copies.append(tuple(rest.split()))
        elif instruction == "USER":
            config["User"] = rest
        elif instruction == "EXPOSE":
            config["ExposedPorts"] = {f"{port}/tcp": {} for port in rest.split()}
        elif instruction == "ENV":
            config.setdefault("Env", []).append(rest)
        elif instruction in ("ENTRYPOINT", "CMD"):
            config[instruction.capitalize()] = json.loads(rest)
        else:
            raise ValueError(f"line {number}: {instruction} {rest} is not understood")
    return config, copies


def layer(context, copies):
    """The one layer as bytes of a tar file: every parent folder, then the file."""
    buffer, folders = io.BytesIO(), set()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for source, target in copies:
            path = pathlib.PurePosixPath(target.lstrip("/"))
            for parent in reversed(path.parents[:-1]):
                if parent not in folders:
                    folders.add(parent)
                    entry = tarfile.TarInfo(str(parent))
                    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                    tar.addfile(entry)
            file = context / source
            content = file.read_bytes()
            entry = tarfile.TarInfo(str(path))
            entry.size, entry.mode = len(content), 0o755 if file.stat().st_mode & 0o100 else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def write(archive, reference, config, content):
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    description = {
        "architecture": machine,
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(content).hexdigest()}"]},
    }
    image = json.dumps(description, sort_keys=True).encode()
    name = f"{hashlib.sha256(image).hexdigest()}.json"
    manifest = [{"Config": name, "RepoTags": [reference], "Layers": ["layer.tar"]}]
    with tarfile.open(archive, "w") as tar:
        for member, data in (("layer.tar", content), (name, image), ("manifest.json", json.dumps(manifest).encode())):
            entry = tarfile.TarInfo(member)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))


if __name__ == "__main__":
    main()
