#!/usr/bin/env bash
# Trains on a machine that has a GPU and Python's PyTorch (hence a CUDA libtorch), but neither Debian's packages nor a
# network, in commands of a few minutes. The program is built here, against the same PyTorch's wheel, or there, where
# there are CMake, ninja, g++ and nvcc.
#
# usage: scripts/train_on_gpu.sh COMMAND ...
#   program FILE WHEEL           here, where the project builds: augur-train for that PyTorch, whose unpacked wheel
#                                WHEEL is, with the libraries that such a machine lacks, as a .tar.xz
#   libraries FILE               here, where the project builds: the headers and libraries that such a machine
#                                lacks, as a .tar.xz of a few megabytes
#   build FILE [BUILD_FOLDER]    there, in a checkout: unpacks them and builds augur-train against PyTorch's
#                                libtorch (default folder: build/gpu)
#   train PART [FLAG...]         there: `augur train PART ...` for at most MINUTES=8 minutes. Exit status 0: the
#                                schedule has ended; 75: give the same command again, it goes on where it was
#   split FOLDER SHARDS [--without-checkpoint]
#                                a result as files of at most SHARD_MB=16 megabytes with checksums
#   join SHARDS FOLDER           the folder again; an error unless every shard is there and undamaged
# AUGUR_TRAIN=build/gpu/augur-train   PYTHON=python3
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
fail() { echo "train_on_gpu: $*" >&2; exit 1; }
usage() { sed -n '2,18s/^# \{0,1\}//p' "$0" >&2; exit 2; }

# What bootstrap.sh installs and augur-train needs, with the shared libraries behind the -dev packages.
packages=(
  libhwy-dev libhwy1 nlohmann-json3-dev libpcre2-dev libpcre2-8-0 libutf8proc-dev libutf8proc2
  libcli11-dev libfmt-dev libfmt9 liblzma-dev liblzma5 libdivsufsort-dev libdivsufsort3 libcpp-httplib-dev
  libssl-dev zlib1g-dev libbrotli-dev  # which pkg-config asks for beside cpp-httplib
  pkgconf-bin libpkgconf3
)

program() {
  local file=$1 wheel folder=$here/build/gpu stage
  wheel=$(cd "$2" && pwd)
  cmake -S "$here" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DAUGUR_BUILD_TRAINING=ON -DAUGUR_GRAMMAR=OFF -DAUGUR_HUB=OFF \
    -DTorch_DIR="$here/cmake/wheel" -DAUGUR_TORCH_WHEEL="$wheel" --log-level=WARNING
  cmake --build "$folder" -j "${JOBS:-$(nproc)}" --target augur_train_program
  stage=$(mktemp -d)
  trap 'rm -rf "$stage"' RETURN
  mkdir -p "$stage/lib"
  strip -o "$stage/lib/augur-train" "$folder/augur-train"
  local library
  while read -r library; do
    case "$library" in
      */libc.so* | */libm.so* | */libstdc++.so* | */libgcc_s.so* | */libpthread.so* | */libdl.so* | */librt.so* | */libutil.so*) ;;
      /lib/* | /usr/lib/*) cp -L "$library" "$stage/lib/" ;;
    esac
  done < <(LD_LIBRARY_PATH=$wheel/torch/lib ldd "$folder/augur-train" | awk '$3 ~ /^\// {print $3}')
  cat >"$stage/augur-train" <<'RUN'
#!/bin/sh
# augur-train with the libtorch of Python's PyTorch
here=$(cd "$(dirname "$0")" && pwd)
torch=$("${PYTHON:-python3}" -c 'import importlib.util, os; print(os.path.dirname(importlib.util.find_spec("torch").origin))')
LD_LIBRARY_PATH=$here/lib:$torch/lib:$LD_LIBRARY_PATH exec "$here/lib/augur-train" "$@"
RUN
  chmod +x "$stage/augur-train"
  tar -C "$stage" -cJf "$file" augur-train lib
  echo "$file: $(du -k "$file" | cut -f1) KB" >&2
}

libraries() {
  local file=$1 folder
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' RETURN
  local path to
  while read -r path; do
    [[ -f $path ]] || continue
    case "$path" in
      */include/* | *.so | *.so.* | *.pc | */cmake/* | /usr/bin/pkgconf) ;;
      *) continue ;;
    esac
    to=$path
    [[ $to == /lib/* ]] && to=/usr$to
    mkdir -p "$folder$(dirname "$to")"
    cp -L "$path" "$folder$to"
  done < <(for package in "${packages[@]}"; do dpkg -L "$package"; done)
  tar -C "$folder" -cJf "$file" usr
  echo "$file: $(du -k "$file" | cut -f1) KB" >&2
}

build() {
  local archive=$1 folder=${2:-$here/build/gpu}
  local python=${PYTHON:-python3} libraries=$folder/libraries
  local torch
  torch=$("$python" -c 'import torch; print(torch.utils.cmake_prefix_path)') || fail "$python has no PyTorch"
  mkdir -p "$libraries"
  tar -C "$libraries" -xJf "$archive"
  local lib=$libraries/usr/lib/x86_64-linux-gnu
  export PKG_CONFIG_SYSROOT_DIR=$libraries PKG_CONFIG_LIBDIR=$lib/pkgconfig:$libraries/usr/share/pkgconfig
  if ! command -v pkg-config >/dev/null && ! command -v pkgconf >/dev/null; then
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$lib" "$libraries/usr/bin/pkgconf" >"$folder/pkg-config"
    chmod +x "$folder/pkg-config"
    export PKG_CONFIG=$folder/pkg-config
  fi
  local generator=()
  command -v ninja >/dev/null && generator=(-G Ninja)
  # Warnings of compilers and of a libtorch that nobody has tried are no errors.
  cmake -S "$here" -B "$folder" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DAUGUR_BUILD_TRAINING=ON \
    -DAUGUR_BUILD_PROGRAMS=OFF -DAUGUR_GRAMMAR=OFF -DAUGUR_HUB=OFF -DAUGUR_BUILD_TESTS=OFF -DAUGUR_WERROR=OFF "-DCMAKE_PREFIX_PATH=$torch;$libraries/usr" --log-level=WARNING
  cmake --build "$folder" -j "${JOBS:-$(nproc)}" --target augur_train_program
  echo "$folder/augur-train" >&2
}

train() {
  local program=${AUGUR_TRAIN:-$here/build/gpu/augur-train} log status=0
  [[ -x $program ]] || fail "$program is missing: scripts/train_on_gpu.sh build FILE"
  log=$(mktemp)
  trap 'rm -f "$log"' RETURN
  "$program" "$@" --minutes "${MINUTES:-8}" 2>&1 | tee "$log" >&2 || status=${PIPESTATUS[0]}
  [[ $status -eq 0 ]] || return "$status"
  if grep -q '^stopped early;' "$log"; then return 75; fi
}

split_result() {
  local folder=$1 shards=$2 exclude=()
  [[ ${3:-} == --without-checkpoint ]] && exclude=(--exclude=./checkpoint.safetensors)
  [[ -f $folder/config.json ]] || fail "$folder: no config.json: not a part's folder"
  mkdir -p "$shards"
  rm -f "$shards"/part.* "$shards"/SHA256SUMS
  tar -C "$folder" "${exclude[@]}" -cf - . | split -b "${SHARD_MB:-16}MB" -a 3 -d - "$shards/part."
  (cd "$shards" && sha256sum part.* >SHA256SUMS)
  echo "$shards: $(find "$shards" -name 'part.*' | wc -l) shards" >&2
}

join_result() {
  local shards=$1 folder=$2
  [[ -f $shards/SHA256SUMS ]] || fail "$shards: no SHA256SUMS"
  (cd "$shards" && sha256sum --quiet -c SHA256SUMS) || fail "$shards: a shard is missing or damaged"
  mkdir -p "$folder"
  # The sums name the shards in their order.
  (cd "$shards" && sed 's/^[0-9a-f]*  //' SHA256SUMS | xargs cat) | tar -C "$folder" -xf -
}

[[ $# -ge 2 ]] || usage
command=$1
shift
case "$command" in
  program) [[ $# -eq 2 ]] || usage; program "$@" ;;
  libraries) libraries "$1" ;;
  build) build "$@" ;;
  train) train "$@" ;;
  split) [[ $# -ge 2 ]] || usage; split_result "$@" ;;
  join) [[ $# -eq 2 ]] || usage; join_result "$@" ;;
  *) usage ;;
esac
