#!/usr/bin/env bash
# `npm run test:environments [-- NAME...] [-- ARGS]`: the tests in environments that a stranger's
# machine may be: other users, folders, names, languages, variables and limits. Without NAME: all of
# them. ARGS are those of `npm test`, such as `--project cli` or a part of a file name. Prints a row
# for each, and exits 1 if a test failed in any. It needs Linux and root, and changes nothing of the
# machine: what an environment needs is mounted in namespaces of its own.
set -euo pipefail
cd "$(dirname "$0")/.."

names=(closed-folder closed-folder-of-user spaces-and-umlauts link umask long-names no-home
  read-only-home long-tmpdir other-file-system path time-zone c-locale missing-locale
  forced-colours no-colours dumb-terminal narrow-terminal ci own-configuration github gitlab
  no-ipv6 few-files one-core few-tools all all-as-user)
# A user without an entry in /etc/passwd but in some environments.
user=54321
# 32 characters, the longest that useradd(8) takes.
long_user=christopher.longlastname.of.sal

# Becomes environment $1, with files in the folder $2: as root, in namespaces of its own.
enter() {
  case $1 in
    closed-folder) move_to "$2/closed/checkout" && chmod 700 "$2/closed" ;;
    closed-folder-of-user) enter closed-folder "$2" && become_user "$2/home" "$2/closed" ;;
    spaces-and-umlauts) move_to "$2/Meine Ablage/redlöck run" ;;
    link) ln -s "$PWD" "$2/linked" && cd "$2/linked" ;;
    umask) umask 077 ;;
    long-names)
      sed "s/^root:/${long_user}1:/" /etc/passwd >"$2/passwd"
      echo "${long_user}2:x:$user:$user::$2/home:/bin/sh" >>"$2/passwd"
      mount --bind "$2/passwd" /etc/passwd
      hostname ip-10-0-112-134.very-very-very-very-very-long.compute.internal ;;
    no-home) unset HOME ;;
    read-only-home) export HOME=$2/home && mount -t tmpfs -o ro none "$HOME" ;;
    long-tmpdir)
      TMPDIR=$2/a-temporary-folder-with-a-long-name-
      while [ ${#TMPDIR} -lt 90 ]; do TMPDIR+=x; done
      mkdir -m 1777 "$TMPDIR" && export TMPDIR ;;
    other-file-system)
      export TMPDIR=$2/other && mkdir "$TMPDIR" && mount -t tmpfs none "$TMPDIR" ;;
    path)
      mkdir -m 0 "$2/closed-bin" && mkdir "$2/other-bin"
      printf '#!/bin/sh\necho another redlockctl\n' >"$2/other-bin/redlockctl"
      chmod +x "$2/other-bin/redlockctl"
      export PATH=$2/closed-bin:$2/missing:$2/other-bin:$PATH ;;
    time-zone) export TZ=Asia/Kolkata ;;
    c-locale) export LC_ALL=C && unset LANG ;;
    missing-locale) export LANG=tlh_QO.UTF-8 && unset LC_ALL ;;
    forced-colours) export FORCE_COLOR=1 ;;
    no-colours) export NO_COLOR=1 ;;
    dumb-terminal) export TERM=dumb && columns=80 ;;
    narrow-terminal) columns=40 ;;
    ci) export CI=true ;;
    own-configuration)
      mkdir "$2/upper" "$2/work"
      mount -t overlay overlay -o "lowerdir=/etc,upperdir=$2/upper,workdir=$2/work" /etc
      printf 'masters: [redis://203.0.113.1]\nttl: 9s\n' >/etc/redlockrc
      export REDLOCK_TTL=7s REDLOCK_NOTE=mine REDLOCK_LOCAL=true REDLOCK_CONFIG=/etc/redlockrc ;;
    github)
      export CI=true GITHUB_ACTIONS=true GITHUB_SERVER_URL=https://github.com
      export GITHUB_REPOSITORY=a/b GITHUB_RUN_ID=17 GITHUB_WORKSPACE=/tmp ;;
    gitlab) export CI=true GITLAB_CI=true CI_JOB_URL=https://gitlab.com/a/b/-/jobs/1 ;;
    no-ipv6) sysctl -qw net.ipv6.conf.all.disable_ipv6=1 || true; ip link set lo up ;;
    few-files) ulimit -n 256 ;;
    one-core) taskset -p 1 $$ >/dev/null ;;
    few-tools)
      mkdir "$2/few-bin"
      for file in ${PATH//://* }/*; do ln -s "$file" "$2/few-bin" 2>/dev/null || true; done
      (cd "$2/few-bin" && rm -f perl tmux git script unshare setpriv groff strace)
      export PATH=$2/few-bin ;;
    all)
      move_to "$2/closed/My Projects/redlock run" && chmod 700 "$2/closed"
      # What is mounted on /etc hides what was mounted below.
      for one in own-configuration long-names long-tmpdir path time-zone c-locale forced-colours \
        github umask; do enter "$one" "$2"; done ;;
    all-as-user) enter all "$2" && become_user "$2/home" "$2/closed" ;;
    *) echo "redlock-run: $1: no environment (${names[*]})" >&2 && exit 64 ;;
  esac
}

# Goes on in a copy of the checkout.
move_to() {
  mkdir -p "$(dirname "$1")" && cp -a "$PWD" "$1" && cd "$1"
}

# The tests belong to an ordinary user, with this home and this folder.
become_user() {
  chown -R "$user:$user" "$@"
  export HOME=$1
  as_user=(setpriv "--reuid=$user" "--regid=$user" --clear-groups)
}

if [ "${1:-}" = --inside ]; then
  name=$2 folder=$3 columns='' as_user=()
  shift 3
  mkdir "$folder/home"
  enter "$name" "$folder"
  tests=(node scripts/test.js "$@")
  # As a job of a shell: the kernel hangs up a group of processes without one if one of it is
  # stopped, as a frozen master is.
  line="stty cols $columns; set -m; ${tests[*]@Q}; exit \$?"
  [ -z "$columns" ] || tests=(script -qec "$line" /dev/null)
  exec "${as_user[@]}" "${tests[@]}" </dev/null
fi

if [ "$(uname)" != Linux ] || [ "$(id -u)" != 0 ]; then
  echo 'redlock-run: test:environments: needs Linux and root' >&2 && exit 69
fi
chosen=()
while [ $# -gt 0 ] && [[ $1 != -* && $1 != */* ]]; do chosen+=("$1") && shift; done
[ "${1:-}" != -- ] || shift
# npm adds variables for its scripts, such as the cache of its user.
for variable in $(compgen -e | grep -i '^npm_'); do unset "$variable"; done
node --input-type=module \
  --eval "import { setUp } from './scripts/setup.js'; await setUp({ server: true });"
failed=0
[ ${#chosen[@]} -gt 0 ] || chosen=("${names[@]}")
for name in "${chosen[@]}"; do
  folder=$(mktemp -d) started=$SECONDS status=0
  chmod 755 "$folder"
  unshare --mount --uts $([ "$name" != no-ipv6 ] || echo --net) \
    bash "$PWD/scripts/environments.sh" --inside "$name" "$folder" "$@" >&2 || status=$? failed=1
  printf '| %s | exit %s | %s s |\n' "$name" "$status" $((SECONDS - started))
  rm -rf "$folder"
done
exit "$failed"
