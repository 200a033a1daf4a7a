#!/bin/sh
# Start of the runner in its image. The judge finds its containers' control groups by their paths in the host's
# namespace. With version 2 Docker gives the runner a namespace of its own, and older Compose has no key against that.
set -- python3 -m runner.commands.start "$@"
[ -e /sys/fs/cgroup/cgroup.controllers ] && set -- nsenter --cgroup=/proc/1/ns/cgroup -- "$@"
exec "$@"
