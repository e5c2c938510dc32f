#!/bin/sh
# Installs redlock-run @version@ under $PREFIX (by default /usr/local): bin/redlock-run,
# bin/redlockctl, man pages and completions. The checksum of each archive is in this script.
#   sh install.sh            installs
#   sh install.sh remove     removes what it installs
# REDLOCK_RUN_URL: another place to download from, such as a mirror or file:///folder.
set -eu

version='@version@'
url=${REDLOCK_RUN_URL:-@url@}
prefix=${PREFIX:-/usr/local}

fail() {
  printf 'redlock-run: install: %s\n' "$1" >&2
  exit 1
}

if [ "${1:-}" = remove ]; then
  for file in bin/redlock-run bin/redlockctl \
    share/man/man1/redlock-run.1.gz share/man/man1/redlockctl.1.gz \
    share/man/man5/redlockrc.5.gz \
    share/bash-completion/completions/redlock-run share/bash-completion/completions/redlockctl \
    share/zsh/site-functions/_redlockctl \
    share/fish/vendor_completions.d/redlock-run.fish \
    share/fish/vendor_completions.d/redlockctl.fish; do
    rm -f "$prefix/$file"
  done
  rm -rf "$prefix/share/doc/redlock-run"
  exit 0
fi

case "$(uname -s) $(uname -m)" in
  'Linux x86_64') system=linux-x64 ;;
  'Linux aarch64' | 'Linux arm64') system=linux-arm64 ;;
  'Darwin x86_64') system=darwin-x64 ;;
  'Darwin arm64') system=darwin-arm64 ;;
  *)
    advice='with Node: npm install --global redlock-run'
    fail "$(uname -sm): no executable for this system ($advice)"
    ;;
esac
# The loader of glibc is looked for first: a system of glibc may have musl beside it.
if [ "$(uname -s)" = Linux ]; then
  [ -e /lib64/ld-linux-x86-64.so.2 ] || [ -e /lib/ld-linux-aarch64.so.1 ] || system=$system-musl
fi

case $system in
  linux-x64) sum='@linux-x64@' ;;
  linux-x64-musl) sum='@linux-x64-musl@' ;;
  linux-arm64) sum='@linux-arm64@' ;;
  linux-arm64-musl) sum='@linux-arm64-musl@' ;;
  darwin-x64) sum='@darwin-x64@' ;;
  darwin-arm64) sum='@darwin-arm64@' ;;
esac

name=redlock-run-$version-$system
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if command -v curl >/dev/null; then
  curl -fsSL -o "$work/archive" "$url/$name.tar.gz" || fail "$url/$name.tar.gz: not downloaded"
else
  wget -q -O "$work/archive" "$url/$name.tar.gz" || fail "$url/$name.tar.gz: not downloaded"
fi
if command -v sha256sum >/dev/null; then
  got=$(sha256sum "$work/archive")
else
  got=$(shasum -a 256 "$work/archive")
fi
[ "${got%% *}" = "$sum" ] || fail "$name.tar.gz: checksum ${got%% *}, and not $sum (not installed)"

gzip -dc "$work/archive" | tar -xf - -C "$work"
mkdir -p "$prefix" || fail "$prefix: cannot be written (run it as root, or set PREFIX)"
# Moved into place: a program that runs keeps the file that it was started from.
(cd "$work/$name" && find . ! -type d) | while IFS= read -r file; do
  mkdir -p "$prefix/${file%/*}"
  mv -f "$work/$name/$file" "$prefix/$file"
done || fail "$prefix: cannot be written (run it as root, or set PREFIX)"
printf '%s\n' "$prefix/bin/redlock-run, $("$prefix/bin/redlock-run" --version)"
if [ "${system%-musl}" != "$system" ] && ! [ -e /usr/lib/libstdc++.so.6 ]; then
  printf 'It needs the C++ library: apk add libstdc++\n'
fi
