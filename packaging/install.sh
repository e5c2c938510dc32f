#!/bin/sh
# Installs redlock-run @version@ under $PREFIX (by default /usr/local): redlock-run, redlockctl and
# redlock-guard in bin/, man pages and completions. The checksum of each archive is in this script.
#   sh install.sh            installs
#   sh install.sh remove     removes what it installs
#   sh install.sh --help     prints this
# REDLOCK_RUN_URL: another place to download from, such as a mirror or file:///folder.
set -eu

version='@version@'
url=${REDLOCK_RUN_URL:-@url@}
prefix=${PREFIX:-/usr/local}

fail() {
  printf 'redlock-run: install: %s\n' "$1" >&2
  exit "${2:-1}"
}

usage() {
  cat <<END
Installs redlock-run $version under \$PREFIX (now $prefix).
  sh install.sh            installs
  sh install.sh remove     removes what it installs
REDLOCK_RUN_URL names another place to download from, now $url
END
}

remove() {
  for file in bin/redlock-run bin/redlockctl bin/redlock-guard \
    share/man/man1/redlock-run.1.gz share/man/man1/redlockctl.1.gz \
    share/man/man5/redlockrc.5.gz \
    share/bash-completion/completions/redlock-run share/bash-completion/completions/redlockctl \
    share/zsh/site-functions/_redlockctl \
    share/fish/vendor_completions.d/redlock-run.fish \
    share/fish/vendor_completions.d/redlockctl.fish; do
    rm -f "$prefix/$file"
  done
  rm -rf "$prefix/share/doc/redlock-run"
}

choose() {
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
}

# Everything that can be known before the download.
check() {
  for tool in tar gzip mktemp; do
    command -v "$tool" >/dev/null || fail "$tool: not on the PATH (install it)"
  done
  command -v sha256sum >/dev/null || command -v shasum >/dev/null ||
    fail 'sha256sum, shasum: neither is on the PATH (install one)'
  case $url in
    file://*) ;;
    *)
      command -v curl >/dev/null || command -v wget >/dev/null ||
        fail 'curl, wget: neither is on the PATH (install one)'
      ;;
  esac
  if [ "$(uname -s)" = Linux ] && ! [ -e /proc/self ]; then
    fail '/proc: not mounted: the executable cannot run without it (mount it)'
  fi
  { mkdir -p "$prefix/bin" && probe=$(mktemp "$prefix/bin/.redlock-run.XXXXXX"); } 2>/dev/null ||
    fail "$prefix: cannot be written (run it as root, or set PREFIX)"
  rm -f "$probe"
}

# In the background, because a shell heeds a signal only between two commands of the foreground.
download() {
  case $url in
    file://*) cp "${url#file://}/$name.tar.gz" "$work/archive" & ;;
    *)
      if command -v curl >/dev/null; then
        curl -fsSL -o "$work/archive" "$url/$name.tar.gz" &
      else
        wget -q -O "$work/archive" "$url/$name.tar.gz" &
      fi
      ;;
  esac
  child=$!
  wait "$child" || fail "$url/$name.tar.gz: not downloaded"
  child=
  if command -v sha256sum >/dev/null; then
    got=$(sha256sum "$work/archive")
  else
    got=$(shasum -a 256 "$work/archive")
  fi
  got=${got%% *}
  [ "$got" = "$sum" ] || fail "$name.tar.gz: checksum $got, and not $sum (not installed)"
}

# Moved into place: a program that runs keeps the file that it was started from. The executable
# comes last, so that one that answers to --version has all that belongs to it.
place() {
  gzip -dc "$work/archive" | tar -xf - -C "$work" || fail "$name.tar.gz: not unpacked in $work"
  (cd "$work/$name" && find share bin ! -type d ! -path bin/redlock-run) >"$work/files" ||
    fail "$work: cannot be read"
  echo bin/redlock-run >>"$work/files"
  while IFS= read -r file; do
    { mkdir -p "$prefix/${file%/*}" && mv -f "$work/$name/$file" "$prefix/$file"; } </dev/null ||
      fail "$prefix/$file: cannot be written: only a part is installed (run it again, or remove)"
  done <"$work/files"
}

stop() {
  [ -z "$child" ] || kill "$child" 2>/dev/null || true
  exit "$1"
}

# A function, called in the last line: of a script that was cut off, nothing is run.
main() {
  case "${1:-}" in
    '') ;;
    remove)
      remove
      exit 0
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) fail "$1: neither remove nor --help" 64 ;;
  esac
  choose
  check
  name=redlock-run-$version-$system
  child=
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trap 'stop 129' HUP
  trap 'stop 130' INT
  trap 'stop 143' TERM
  download
  place
  shown=$("$prefix/bin/redlock-run" --version) || {
    needed='glibc 2.17 or newer'
    if [ "${system%-musl}" != "$system" ]; then
      needed='musl 1.2.5 or newer with the C++ library: apk add libstdc++'
    fi
    fail "$prefix/bin/redlock-run: installed, but it does not run here (it needs $needed)"
  }
  printf '%s, %s\n' "$prefix/bin/redlock-run" "$shown"
}

main "$@"
