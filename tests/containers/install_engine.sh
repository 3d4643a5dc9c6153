#!/bin/bash
# Gives a Debian 12 machine a Docker engine with Compose and buildx, from Debian's packages alone, and starts it.
# For machines that build and test this project; not for a user's own: there, follow Docker's installation page.
# Root; does again what is missing only. Debian 12 has the engine, Debian 13 the two plugins (they need only libc6).
set -euo pipefail

plugins=/usr/local/lib/docker/cli-plugins
log=${1:-/var/log/dockerd.log}

install_engine() {
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends docker.io debootstrap iptables
}

install_plugins() {
    local work mirror
    work=$(mktemp -d)
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$plugins"
    # The mirror that this machine uses already, whichever it is.
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1)
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$work/trixie.list"
    local apt=(apt-get -q -o "Dir::Etc::SourceList=$work/trixie.list" -o Dir::Etc::SourceParts=-
        -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
    "${apt[@]}" update
    (cd "$work" && "${apt[@]}" download docker-compose docker-buildx)
    for package in "$work"/*.deb; do
        dpkg -x "$package" "$work/unpacked"
    done
    install -m 0755 "$work"/unpacked/usr/libexec/docker/cli-plugins/* "$plugins"
    rm -rf "$work"
}

start_engine() {
    setsid dockerd >"$log" 2>&1 </dev/null &
    for _ in $(seq 60); do
        docker version >/dev/null 2>&1 && return
        sleep 1
    done
    tail -n 20 "$log" >&2
    echo "dockerd did not start; its log is $log" >&2
    return 1
}

if ! command -v dockerd >/dev/null || ! command -v debootstrap >/dev/null; then install_engine; fi
if ! docker compose version >/dev/null 2>&1 || ! docker buildx version >/dev/null 2>&1; then install_plugins; fi
docker version >/dev/null 2>&1 || start_engine
docker version --format 'engine {{.Server.Version}}'
docker compose version
