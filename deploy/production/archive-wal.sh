#!/bin/sh
# PostgreSQL's archive_command, `sh archive-wal.sh %p %f`: copy a finished WAL file into $WAL_ARCHIVE.
# A file that is there already must be the same, so that two servers never mix their archives.
set -eu
target="$WAL_ARCHIVE/$2"
if [ -e "$target" ]; then
    exec cmp -s "$1" "$target"
fi
cp "$1" "$target.part"
sync "$target.part"
mv "$target.part" "$target"
sync "$WAL_ARCHIVE"
