#!/usr/bin/env bash
# Makes a release of a commit: archives of the source and of the programs, Debian packages, a container's image, a bill
# of materials, and SHA256SUMS. The parts lie in deploy/release/.
#
# usage: scripts/release.sh [--build FOLDER] [--out FOLDER] [--check] [COMMIT]
#   COMMIT          a tag vMAJOR.MINOR.PATCH, or any commit (HEAD), whose version is then one before the next tag's
#   --build FOLDER  a build of the commit that is there already; without, the archive of the source is built
#   --out FOLDER    where the release goes (build/releases/VERSION)
#   --check         then proves it: packages, archive and image in clean Debian roots without compilers, where
#                   scripts/demo.sh has to find the same tokens with and without speculation, and a server answers
# DEBFULLNAME, DEBEMAIL: who is named as the packages' maintainer (the commit's committer)
# What it needs: scripts/bootstrap.sh --release. Images and checks also need root and a Debian mirror: exit code 77
# where these are not, and nothing else was wrong.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "release: $*" >&2; }
die() { say "$*"; exit 1; }

# A root of Debian 12, made by mmdebstrap. Where none can be made, the release ends here, with what it has.
debian_root() { # WHAT TARGET OPTION...
  mmdebstrap "${@:3}" bookworm "$2" >"$work/root.log" 2>&1 && return
  tail -n 5 "$work/root.log" >&2
  say "$1: skipped, no root of Debian can be made here (says why above)"
  exit 77
}

build=
out=
check=
commit=HEAD
while [[ $# -gt 0 ]]; do
  case "$1" in
    --build) build=$(realpath "$2") && shift ;;
    --out) out=$2 && shift ;;
    --check) check=1 ;;
    -*) sed -n '2,16s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    *) commit=$1 ;;
  esac
  shift
done

# --- What is released -------------------------------------------------------------------------------------------

hash=$(git rev-parse --verify --quiet "$commit^{commit}") || die "there is no commit $commit"
SOURCE_DATE_EPOCH=$(git show -s --format=%ct "$hash")
export SOURCE_DATE_EPOCH
declared=$(git show "$hash:include/augur/version.h" | sed -n 's/^#define AUGUR_VERSION_[A-Z]* \([0-9]*\)$/\1/p' | paste -sd.)
tag=$(git tag --points-at "$hash" --list 'v[0-9]*' | head -n 1)
if [[ -n $tag ]]; then
  [[ $tag == "v$declared" ]] || die "the tag is $tag, and version.h says $declared"
  version=$declared
else
  version=$declared~git$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d).${hash:0:12}
fi
name=augur-$version
image_tag=${version//\~/-}  # which may have no tilde
out=$(realpath -m "${out:-build/releases/$version}")
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$work"' EXIT
chmod 755 "$work"  # users of the roots in it have to pass
mkdir -p "$out"
rm -f "$out"/*

# The same bytes for the same commit.
archive() { # FOLDER FILE
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$(dirname "$1")" -c "$(basename "$1")" |
    gzip -n >"$2"
}

sums() {
  (cd "$out" && rm -f SHA256SUMS && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
}

# --- The source, with what the build would fetch ------------------------------------------------------------------

make_source() {
  source=$work/$name
  git archive --prefix="$name/" "$hash" | tar -x -C "$work"
  local xgrammar part
  xgrammar=$("$source/scripts/get_xgrammar.sh")
  for part in cpp include 3rdparty/dlpack/include 3rdparty/dlpack/LICENSE 3rdparty/picojson LICENSE NOTICE; do
    mkdir -p "$source/third_party/xgrammar/$(dirname "$part")"
    cp -r "$xgrammar/$part" "$source/third_party/xgrammar/$part"
  done
  archive "$source" "$out/$name.tar.gz"
}

make_build() {
  if [[ -z $build ]]; then
    build=$source/build/release
    cmake -S "$source" --preset release -DAUGUR_BUILD_TESTS=OFF --log-level=WARNING >&2
    cmake --build "$build" -j "$(nproc)" --target augur_program augur_lab_program augur_shared >&2
  fi
  local built
  built=$("$build/augur" --version | sed -n '1s/.*(\(.*\))/\1/p')
  [[ $built == "${hash:0:12}" ]] || die "$build/augur is of commit $built, not of ${hash:0:12}"
}

# --- The programs with the libraries that they load, all but the C library: for any Linux with glibc 2.36 ----------------

# The library that no program is linked with, but loads when it fetches a model.
loaded_library() {
  local name
  name=$(sed -n 's/.* kCurl = "\(.*\)";/\1/p' src/hub/curl_library.cpp)
  ldconfig -p | sed -n "s|.*[[:space:]]$name .*x86-64.* => ||p" | grep . || die "$name is not on this machine"
}

make_archive() {
  local stage=$work/stage/$name-linux-x86_64 library owner file
  deploy/release/install.sh "$build" --prefix "$stage" --strip >/dev/null
  mkdir -p "$stage/lib/augur" "$stage/share/augur/models" "$stage/share/man/man1"
  while read -r library; do
    owner=$(dpkg -S "$library" "${library#/usr}" 2>/dev/null || true)  # a file of a merged /usr has two names
    [[ $owner == libc6:* ]] && continue
    install -m 0644 "$(realpath "$library")" "$stage/lib/augur/$(basename "$library")"
    patchelf --set-rpath "\$ORIGIN" "$stage/lib/augur/$(basename "$library")"
  done < <({ ldd "$stage"/bin/* "$stage"/lib/libaugur.so "$(loaded_library)"; echo " => $(loaded_library) "; } |
    sed -n 's|.* => \(/[^ ]*\) .*|\1|p' | sort -u)
  patchelf --set-rpath "\$ORIGIN/../lib/augur" "$stage"/bin/*
  for file in "$stage"/lib/libaugur.so.*.*; do patchelf --set-rpath "\$ORIGIN/augur" "$file"; done
  cp -r "$source/models/stories260k" "$stage/share/augur/models/"
  cp -r "$source/deploy" "$stage/share/augur/"
  cp "$source/LICENSE" "$source/README.md" "$source/SECURITY.md" "$source/docs/changes.md" "$stage/"
  cp -r "$work/licences" "$stage/licences"
  deploy/release/manuals.sh "$stage/bin" "$stage/share/man/man1"
  archive "$stage" "$out/$name-linux-x86_64.tar.gz"
}

# --- Debian packages ------------------------------------------------------------------------------------------------

make_packages() {
  local maintainer
  maintainer="${DEBFULLNAME:-$(git show -s --format=%cn "$hash")} <${DEBEMAIL:-$(git show -s --format=%ce "$hash")}>"
  mkdir "$work/package"
  cp -r "$source" "$work/package/augur"
  cp -r deploy/release/debian "$work/package/augur/debian"
  sed -i "s|@MAINTAINER@|$maintainer|" "$work/package/augur/debian/control"
  printf 'augur (%s-1) bookworm; urgency=medium\n\n  * changelog.gz says what is new.\n\n -- %s  %s\n' "$version" \
    "$maintainer" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" >"$work/package/augur/debian/changelog"
  (cd "$work/package/augur" && DEB_BUILD_OPTIONS=noautodbgsym AUGUR_BUILD=$build dpkg-buildpackage -b -us -uc) \
    >"$work/package.log" 2>&1 || { tail -n 30 "$work/package.log" >&2; die "the packages could not be made"; }
  lintian --fail-on error --suppress-tags initial-upload-closes-no-bugs "$work"/package/*.deb >&2 || die "lintian has found errors"
  cp "$work"/package/*.deb "$out/"
}

# --- The image: what the package needs, and it, with the settings of deploy/Dockerfile --------------------------------------

# The value of an instruction in the last stage of deploy/Dockerfile.
dockerfile() { # INSTRUCTION
  awk '/^FROM/ {text = ""} {text = text "\n" $0} END {print text}' deploy/Dockerfile | sed -n "s/^$1 //p"
}

package() { echo "$out"/augur_*.deb; }

make_image() {
  local needed word settings=()
  needed=$(dpkg-deb -f "$(package)" Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/ //g')
  # Certificates, which the package recommends: without them no hub is known (-hf).
  debian_root "the image" "$work/image.tar" --variant=essential --include="$needed,ca-certificates" --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook="copy-in $(package) /" --customize-hook='chroot "$1" sh -c "dpkg -i /augur_*.deb && rm /augur_*.deb"' \
    --customize-hook="install -m 0755 deploy/healthcheck.sh \"\$1/usr/local/bin/healthcheck\"" \
    --customize-hook="install -d -o $(dockerfile USER | cut -d: -f1) -g $(dockerfile USER | cut -d: -f2) \"\$1$(dockerfile VOLUME)\""
  while read -r word; do settings+=(--config.entrypoint "$word"); done < <(
    dockerfile ENTRYPOINT | python3 -c 'import json, sys; print("\n".join(json.load(sys.stdin)))')
  umoci init --layout "$work/image"
  umoci new --image "$work/image:$image_tag"
  umoci raw add-layer --image "$work/image:$image_tag" "$work/image.tar"
  umoci config --image "$work/image:$image_tag" --created "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" \
    --config.user "$(dockerfile USER)" --config.exposedports "$(dockerfile EXPOSE)" --config.volume "$(dockerfile VOLUME)" \
    --config.env "$(dockerfile ENV)" --config.env PATH=/usr/local/bin:/usr/bin:/bin --config.stopsignal "$(dockerfile STOPSIGNAL)" \
    --config.label "org.opencontainers.image.version=$version" --config.label "org.opencontainers.image.revision=$hash" \
    --config.label org.opencontainers.image.licenses=Apache-2.0 "${settings[@]}"
  umoci gc --layout "$work/image"
  tar --sort=name --owner=0 --group=0 --mtime="@$SOURCE_DATE_EPOCH" -C "$work/image" -cf "$out/$name-image.oci.tar" .
}

# --- Proofs -------------------------------------------------------------------------------------------------------------

# A command in a root with a /proc, which goes with it: programs ask there where they lie.
cat >"$work/inside" <<'END'
#!/bin/sh
# usage: inside ROOT [--userspec=USER] COMMAND...
root=$1 user=
shift
case $1 in --userspec=*) user=$1 && shift ;; esac
exec unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$@"' "$root" $user "$root" "$@"
END
chmod 755 "$work/inside"
inside=$work/inside

no_compiler() { # ROOT
  ! chroot "$1" sh -c 'command -v cc gcc g++ c++ cpp as ld clang clang++ cmake' || die "$1 has a compiler"
}

# scripts/demo.sh with a program in a root. The model and the prompts are put where it names them.
demo() { # ROOT PROGRAM [--userspec=USER]
  local root=$1 model file
  for file in models/smollm2-eagle3 models/stories260k; do
    mkdir -p "$root$PWD/models"
    cp -r "$file" "$root$PWD/models/"
  done
  if model=$(scripts/get_model.sh); then install -D -m 0644 "$model" "$root$model"; fi
  cat >"$work/augur" <<END
#!/bin/sh
mkdir -p "$root$PWD/build/demo" && cp build/demo/prompts.jsonl "$root$PWD/build/demo/"
exec "$inside" "$root" ${*:3} env -C "$PWD" XDG_CACHE_HOME=$(dockerfile ENV | sed 's/.*=//') $2 "\$@"
END
  chmod 755 "$work/augur"
  # What lies on the way to a home folder may be closed to the user in the root.
  (path=$root; IFS=/; for part in ${model:1}; do path=$path/$part && chmod a+rX "$path"; done)
  (path=$root; IFS=/; for part in ${PWD:1}; do path=$path/$part && chmod a+rX "$path"; done)
  scripts/demo.sh "$work/augur" >"$work/demo.log" || { cat "$work/demo.log" >&2; die "the demo has failed in $root"; }
  sed -n '1p; /^prompt /,/^Medians/p' "$work/demo.log" >&2
}

# A server in a root, asked from outside through its socket, ends as it is told to.
serve() { # ROOT PROGRAM [--userspec=USER]
  local root=$1 socket=/tmp/augur.sock answer i
  "$inside" "$root" ${3:+"$3"} env XDG_CACHE_HOME="$(dockerfile ENV | sed 's/.*=//')" "$2" serve \
    -m "${PWD}/models/stories260k" --host "$socket" >/dev/null 2>"$work/serve.log" &
  server=$!
  for ((i = 0; i < 600; ++i)); do
    curl -sf --unix-socket "$root$socket" http://localhost/health/ready >/dev/null && break
    kill -0 "$server" 2>/dev/null || { cat "$work/serve.log" >&2; die "the server did not start"; }
    sleep 0.1
  done
  answer=$(curl -sS --unix-socket "$root$socket" http://localhost/v1/completions -H 'Content-Type: application/json' \
    -d '{"prompt": "Once upon a time", "max_tokens": 16, "temperature": 0}')
  [[ $answer == *"there was a little girl named Lily"* ]] || die "the server has answered $answer"
  kill -TERM "$server"
  wait "$server" || die "the server has ended with $?: $(tail -n 3 "$work/serve.log")"
  server=
}

check_release() {
  local clean=$work/clean user
  (cd "$out" && sha256sum --quiet -c SHA256SUMS) || die "SHA256SUMS is wrong"
  say "clean Debian 12"
  debian_root "the proof" "$clean" --variant=apt
  if ! "$inside" "$clean" true; then
    say "the proof: skipped, nothing can be mounted here"
    exit 77
  fi
  no_compiler "$clean"
  install -d -m 1777 "$clean$(dockerfile VOLUME)"

  say "the archive"
  mkdir -p "$clean/opt"
  tar -xzf "$out/$name-linux-x86_64.tar.gz" -C "$clean/opt"
  demo "$clean" "/opt/$name-linux-x86_64/bin/augur"
  serve "$clean" "/opt/$name-linux-x86_64/bin/augur"

  say "the packages"
  cp "$out"/*.deb "$clean/tmp/"
  "$inside" "$clean" sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends /tmp/*.deb' >"$work/install.log" 2>&1 ||
    { tail -n 20 "$work/install.log" >&2; die "the packages cannot be installed"; }
  no_compiler "$clean"
  demo "$clean" /usr/bin/augur
  serve "$clean" /usr/bin/augur
  "$inside" "$clean" augur-lab --version >/dev/null
  mkdir "$work/units"
  sed "s|/usr/bin/augur|$clean/usr/bin/augur|" "$clean/lib/systemd/system/augur.service" >"$work/units/augur.service"
  systemd-analyze verify --man=no "$work/units/augur.service" >&2 || die "systemd-analyze verify has complaints"
  echo 'MODEL=/srv/mine' >"$clean/etc/augur/augur.env"
  "$inside" "$clean" sh -c 'dpkg -i --force-confdef /tmp/augur_*.deb' >/dev/null 2>&1 && grep -qx MODEL=/srv/mine "$clean/etc/augur/augur.env" ||
    die "installing anew has changed /etc/augur/augur.env"
  "$inside" "$clean" apt-get purge -y -qq augur libaugur1 libaugur-dev >"$work/install.log" 2>&1 || die "the packages cannot be removed"
  [[ ! -e $clean/usr/bin/augur && ! -e $clean/etc/augur/augur.env ]] || die "purging leaves files"

  say "the image"
  mkdir "$work/layout"
  tar -xf "$out/$name-image.oci.tar" -C "$work/layout"
  umoci unpack --image "$work/layout:$image_tag" "$work/bundle" 2>"$work/unpack.log" || { cat "$work/unpack.log" >&2; die "umoci unpack"; }
  user=--userspec=$(dockerfile USER)
  no_compiler "$work/bundle/rootfs"
  demo "$work/bundle/rootfs" augur "$user"
  serve "$work/bundle/rootfs" augur "$user"
}

scripts/bootstrap.sh --release
make_source
make_build
say "$name, of ${hash:0:12}"
deploy/release/sbom.py "$build" "$out/$name.cdx.json" "$work/licences" >&2
make_archive
make_packages
sums
if [[ $EUID -ne 0 ]]; then
  say "the image: skipped, not root"
  exit 77
fi
make_image
sums
if [[ -n $check ]]; then check_release; fi
ls -sh "$out" >&2
