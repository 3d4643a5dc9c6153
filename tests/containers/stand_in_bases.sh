#!/bin/bash
# Makes stand-ins for the base images that the Dockerfiles name, under the same tags, from Debian's packages and the
# CPythons of this machine, for machines that reach no image registry. Root, Debian; makes what is missing only.
# The stand-ins, not the Dockerfiles, trust this machine's certificates: builds behind its proxy reach the registries.
#
# A CPython X.Y is looked for in $PYTHONS/X.Y.*/ (default: pyenv's versions folder).
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
pythons=${PYTHONS:-${PYENV_ROOT:-$HOME/.pyenv}/versions}
libraries=libssl3,libffi8,zlib1g,libbz2-1.0,liblzma5,libsqlite3-0,libreadline8,libncursesw6,libuuid1,libexpat1
bundle=/etc/ssl/certs/ca-certificates.crt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make_debian() {
    debootstrap --variant=minbase --include="ca-certificates,netbase,tzdata,$libraries" bookworm "$1" >"$work/debootstrap.log" ||
        { tail -n 20 "$work/debootstrap.log" >&2; return 1; }
    rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/* "$1"/usr/share/{doc,man,locale}/*
    cp "$bundle" "$1$bundle"
}

make_base() { # tag, version of Python
    local source
    source=$(compgen -G "$pythons/$2.*" | sort -V | tail -n 1) || { echo "no CPython $2 in $pythons" >&2; return 1; }
    [ -d "$work/debian" ] || make_debian "$work/debian"
    cp -a --reflink=auto "$work/debian" "$work/base"
    cp -a "$source"/{bin,include,lib} "$work/base/usr/local/"
    find "$work"/base/usr/local/lib/python*/site-packages -mindepth 1 -maxdepth 1 ! -name 'pip*' -exec rm -rf {} +
    find "$work/base/usr/local/lib" -type d \( -name test -o -name __pycache__ \) -prune -exec rm -rf {} +
    chroot "$work/base" ldconfig
    tar -C "$work/base" -c . | docker import \
        --change "ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin" \
        --change "ENV SSL_CERT_FILE=$bundle" --change "ENV PIP_CERT=$bundle" \
        --change 'CMD ["python3"]' - "$1" >/dev/null
    rm -rf "$work/base"
    echo "made $1 from $source"
}

sed -n 's/^FROM \(python:[^ ]*\).*/\1/p' "$root"/images/*/*/*.Dockerfile | sort -u | while read -r tag; do
    version=${tag#python:}
    docker image inspect "$tag" >/dev/null 2>&1 || make_base "$tag" "${version%%-*}"
done
