#!/usr/bin/env bash
# Installs the Debian packages that Augur is built with. Only missing ones: with everything in place it
# changes nothing, needs no privileges and takes a fraction of a second.
#
# usage: scripts/bootstrap.sh [--dev] [--train] [--release] [--missing]
#   --dev    clang's format, tidy and fuzzing tools, and what checks with real clients need, too
#   --train  what `augur train` is built with, too (libtorch)
#   --release  what scripts/release.sh makes packages and an image with, too
#   --missing  only prints which are missing; nothing on systems without dpkg
# AUGUR_SKIP_BOOTSTRAP=1 trusts that the tools are there (other distributions, containers without apt).
set -euo pipefail

build_packages=(
  g++ cmake ninja-build ccache pkg-config git make ca-certificates
  libhwy-dev nlohmann-json3-dev libpcre2-dev libutf8proc-dev
  libcli11-dev libtomlplusplus-dev libfmt-dev liblzma-dev libdivsufsort-dev libcpp-httplib-dev libboost1.81-dev libedit-dev
  libcurl4-openssl-dev libssl-dev
  prometheus-cpp-dev libspdlog-dev
  node-markdown-it node-punycode node-dompurify libjs-katex
  libgtest-dev libgmock-dev
  python3 python3-pip patch
)
dev_packages=(clang clang-format clang-tidy libclang-rt-14-dev python3-venv)
train_packages=(libtorch-dev)
release_packages=(abigail-tools debhelper dpkg-dev lintian help2man man-db patchelf mmdebstrap umoci curl systemd xz-utils)

packages=("${build_packages[@]}")
only_list=0
for option in "$@"; do
  case "$option" in
    --dev) packages+=("${dev_packages[@]}") ;;
    --train) packages+=("${train_packages[@]}") ;;
    --release) packages+=("${release_packages[@]}") ;;
    --missing) only_list=1 ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done

[[ "${AUGUR_SKIP_BOOTSTRAP:-0}" == 1 ]] && exit 0

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  [[ $only_list == 1 ]] && exit 0
  echo "bootstrap: this is not a Debian-like system. Install the equivalents of:" >&2
  echo "  ${packages[*]}" >&2
  echo "and run again with AUGUR_SKIP_BOOTSTRAP=1." >&2
  exit 1
fi

# One query for all; a package that dpkg has never heard of is missing too.
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qx "installed $package" <<<"$installed" || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0
if [[ $only_list == 1 ]]; then
  echo "${missing[*]}"
  exit 0
fi

as_root=()
if [[ $EUID -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "bootstrap: neither root nor sudo. As root, run:" >&2
    echo "  apt-get update && apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "bootstrap: installing ${missing[*]}" >&2
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
if ! "${apt[@]}" update >&2 || ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >&2; then
  echo "bootstrap: apt-get could not install: ${missing[*]}" >&2
  echo "Check that a Debian mirror can be reached (apt-get update), then run this again." >&2
  exit 1
fi
