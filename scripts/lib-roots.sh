# shellcheck shell=bash
# How commands get into another system's surroundings: a directory with a Debian in it (a chroot), or the machine's own /.
# Source it behind scripts/lib.sh; it runs nothing by itself.
#
#   find_mode              sets MODE
#   inside USER COMMAND ...  runs a command in there, as root or as test. INTERRUPTED is not empty if a signal was passed on to it
#   as_owner COMMAND ...   runs it outside, as the one who owns what is in the chroots
#   suite_of MAJOR         the Debian release that has a major of PostgreSQL
#   mirror                 the Debian mirror in the machine's own apt configuration
#   sources_of SUITE       apt's lines for a Debian release
#   bootstrap ...          makes a Debian
#   chroot_apt SUITE ..., chroot_install, adding WHAT COMMAND ...
#                          add packages to a chroot
#
# They read ROOT, the system's / as seen from here, and MODE:
#   root     root, with namespaces of its own
#   user     a plain user, with namespaces of its own: looks like root inside
#   plain    no namespaces: only for the machine's own servers

find_mode() {
    if [[ $EUID -eq 0 ]] && unshare --mount --pid --ipc --fork --mount-proc true 2>/dev/null; then
        MODE=root
    elif [[ $EUID -ne 0 ]] && unshare --map-root-user --map-auto --mount --pid --ipc --fork --mount-proc true 2>/dev/null; then
        MODE=user
    else
        MODE=plain
    fi
}

#### Commands in there

INTERRUPTED=

# Process 1 of a run: starts the command, passes signals on, buries orphans, ends with the command's status. The kernel
# then ends whatever is left in the PID namespace.
# shellcheck disable=SC2016 # that is Perl
INIT='
my ($pid, $early, $status);
for my $s (qw(TERM INT HUP)) { $SIG{$s} = sub { $pid ? kill($s, $pid) : ($early = $s) } }
$pid = fork() // die "fork: $!\n";
if (!$pid) {
    $SIG{$_} = "DEFAULT" for qw(TERM INT HUP QUIT PIPE);
    exec { $ARGV[0] } @ARGV or do { print STDERR "$ARGV[0]: $!\n"; exit 127 };
}
kill($early, $pid) if $early;
for (;;) {
    my $gone = wait();
    if ($gone == $pid) { $status = $?; last }
    last if $gone < 0 && !$!{EINTR};
}
exit($status & 127 ? 128 + ($status & 127) : $status >> 8);
'

# Arguments: the root directory, the user to become (- for nobody else than now), then the command. Runs first inside
# new namespaces, so that what it mounts goes away with them.
# shellcheck disable=SC2016 # expanded by the shell that runs it
ENTER='
set -e
root=$1 user=$2; shift 2
if [ "$root" = / ]; then
    mount -t proc proc /proc
else
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    mkdir -m 1777 "$root/dev/shm"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    for node in null zero full random urandom tty; do
        : >"$root/dev/$node"
        mount --bind "/dev/$node" "$root/dev/$node"
    done
    mount --rbind /sys "$root/sys" 2>/dev/null || :     # how far a disk reads ahead, if that may be seen
    ln -s /proc/self/fd "$root/dev/fd"
    for n in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${n%%:*}" "$root/dev/${n#*:}"; done
fi
set -- setpriv --pdeathsig KILL "$@"
case $user in
    -) ;;
    [0-9]*:*) set -- unshare --map-user="${user%:*}" --map-group="${user#*:}" "$@" ;;
    *) shift; set -- setpriv --reuid="$user" --regid="$(chroot "$root" id -g "$user")" --init-groups "$@" ;;
esac
exec chroot "$root" "$@"
'

# inside USER COMMAND ...: USER is root (the one who may write into the surroundings) or test.
inside() {
    local user=- how=() pid rc=0 mark=$$.$RANDOM traps
    if [[ $1 == test ]]; then
        case $MODE:$ROOT in
            plain:*) [[ $EUID -ne 0 ]] || user=$(test_user) ;;
            root:/)  user=$(test_user) ;;
            user:/)  user=$(id -u):$(id -g) ;;
            *)       user=postgres ;;
        esac
    fi
    shift
    case $MODE in
        root) how=(unshare --mount --pid --ipc --kill-child) ;;
        user) how=(unshare --map-root-user --map-auto --mount --pid --ipc --kill-child) ;;
    esac
    if [[ $MODE != plain ]]; then
        how=(setpriv --pdeathsig KILL "${how[@]}" bash -c "$ENTER" enter "$ROOT" "$user" perl -e "$INIT" --)
    elif [[ $user != - ]]; then
        how=(setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups perl -e "$INIT" --)
    else
        how=(perl -e "$INIT" --)
    fi
    traps=$(trap -p TERM INT HUP)
    CSCAN_RUN=$mark "${how[@]}" "$@" <&0 &
    pid=$!
    trap 'pass_on TERM "$pid"' TERM
    trap 'pass_on INT "$pid"' INT
    trap 'pass_on HUP "$pid"' HUP
    SIGNALLED=yes
    while [[ -n $SIGNALLED ]]; do      # a signal interrupts wait
        SIGNALLED="" rc=0
        wait "$pid" || rc=$?
    done
    trap - TERM INT HUP
    eval "$traps"
    [[ $MODE != plain ]] || end_marked "$mark"
    return "$rc"
}

# unshare itself does not listen to signals; its only child, process 1 inside, does as soon as it has handlers (until then
# the kernel would drop the signal: SigCgt tells).
pass_on() {
    local file pid=$2 caught tries
    # shellcheck disable=SC2034 # for whoever sources this
    SIGNALLED=yes INTERRUPTED=$1
    for ((tries = 0; tries < 100; tries++)); do
        [[ $MODE != plain ]] || break
        file=$(grep -ls "^PPid:[[:space:]]*$2\$" /proc/[0-9]*/status) || :     # fails for any process that just went
        file=${file%%$'\n'*} caught=0
        [[ -z $file ]] || caught=$(sed -n 's/^SigCgt:.*\(....\)$/\1/p' "$file" 2>/dev/null) || :
        if ((16#${caught:-0} & 0x4000)); then
            file=${file%/status} pid=${file#/proc/}
            break
        fi
        kill -0 "$2" 2>/dev/null || return 0
        sleep 0.05
    done
    kill -s "$1" "$pid" 2>/dev/null || :
}

# Without a PID namespace: ends what still carries a run's mark in its environment (a postmaster does, and its children
# end when it is gone).
end_marked() {
    local file pid tries
    for ((tries = 0; tries < 50; tries++)); do
        pid=
        while IFS= read -r file; do
            file=${file%/environ} pid=${file#/proc/}
            kill -s KILL "$pid" 2>/dev/null || :
        done < <(grep -lsz "^CSCAN_RUN=$1\$" /proc/[0-9]*/environ)
        [[ -n $pid ]] || break
        sleep 0.1
    done
}

#### Debian

suite_of() {
    case $1 in
        15) echo bookworm ;;
        17) echo trixie ;;
        18) echo sid ;;
        19) echo experimental ;;
        *) die "no Debian release has PostgreSQL $1, nor has this machine" ;;
    esac
}

# The main Debian mirror in the machine's own apt configuration.
mirror() {
    if [[ -n ${CSCAN_MIRROR:-} ]]; then echo "$CSCAN_MIRROR"; return; fi
    local id codename
    id=$(. /etc/os-release; echo "$ID") codename=$(. /etc/os-release; echo "${VERSION_CODENAME:-}")
    [[ $id == debian ]] || die "no Debian mirror in apt's configuration (this is $id): set CSCAN_MIRROR to one for PostgreSQL $MAJOR"
    # shellcheck disable=SC2016 # apt expands it
    apt-get indextargets --format '$(RELEASE)|$(CODENAME)|$(COMPONENT)|$(REPO_URI)' 'Created-By: Packages' |
        awk -F'|' -v name="$codename" '
            $3 != "main" || $4 ~ /security/ { next }
            $1 == name || $2 == name || $1 ~ /^(stable|testing|unstable|sid)$/ { print $4; exit }' | grep . ||
        die "found no Debian mirror in apt's configuration: set CSCAN_MIRROR"
}

# sources_of SUITE: prints apt's lines for a Debian release, with its security updates where this machine gets its own.
sources_of() {
    local url security
    url=$(mirror)
    echo "deb $url $1 main"
    [[ $1 != sid ]] || return 0
    # shellcheck disable=SC2016 # apt expands it
    security=$(apt-get indextargets --format '$(CODENAME)|$(COMPONENT)|$(REPO_URI)' 'Created-By: Packages' |
        awk -F'|' '$1 ~ /-security$/ && $2 == "main" { print $3; exit }')
    [[ -z $security ]] || echo "deb $security $1-security main"
}

# bootstrap OPTION ... SUITE TARGET SOURCE ...: mmdebstrap, which must be installed, for a mirror that may stand still.
bootstrap() {
    as_owner env TMPDIR=/tmp mmdebstrap --mode=root --variant=apt \
        --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
        --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Check-Date "false"' "$@" </dev/null
}

# As the one who owns what is in the chroots, outside of them.
as_owner() {
    if [[ $EUID -ne 0 && ${MODE:-} == user ]]; then unshare --map-root-user --map-auto --mount "$@"; else "$@"; fi
}

# Adding packages to a chroot that is there: they are downloaded from outside, where the network is known to work, and
# installed inside. What the chroot has stays, in its version, unless something new needs a newer one.
#
# chroot_apt SUITE ... sets GET, apt-get for these Debian releases and the chroot, and ADD, the directory for what it gets.
chroot_apt() {
    local suite url
    ADD=$ROOT/var/cache/cscan-add
    url=$(mirror)
    as_owner rm -rf --one-file-system "$ADD"
    as_owner mkdir -p "$ADD/lists/partial" "$ADD/cache/archives/partial" "$ADD/files"
    [[ " $* " != *" experimental "* ]] || set -- sid "$@"
    for suite; do echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $url $suite main"; done |
        as_owner tee "$ADD/sources.list" >/dev/null
    GET=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dir="$ROOT" -o Dir::Etc::sourcelist="$ADD/sources.list"
        -o Dir::Etc::sourceparts=/nowhere -o Dir::Etc::preferencesparts=/nowhere -o Dir::State::lists="$ADD/lists" -o Dir::Cache="$ADD/cache"
        -o Acquire::Check-Valid-Until=false -o Acquire::Check-Date=false -o Acquire::Languages=none -o APT::Sandbox::User=root)
    as_owner "${GET[@]}" update
}

# Packages in cache/archives are installed, of those in files only the files are taken. No service starts, no cluster is made.
# shellcheck disable=SC2016 # expanded by the shell that runs it
INSTALL='
set -e
conf=/etc/postgresql-common/createcluster.conf policy=/usr/sbin/policy-rc.d
trap "rm -f $policy" EXIT
grep -qs "^create_main_cluster = false" "$conf" || { mkdir -p "${conf%/*}"; echo "create_main_cluster = false" >>"$conf"; }
printf "#!/bin/sh\nexit 101\n" >"$policy"
chmod 755 "$policy"
cd "$1"
export DEBIAN_FRONTEND=noninteractive PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
set -- cache/archives/*.deb
[ ! -e "$1" ] || dpkg --force-confold --force-confdef -i "$@"
for deb in files/*.deb; do [ ! -e "$deb" ] || dpkg-deb -x "$deb" /; done
'
chroot_install() { inside root sh -c "$INSTALL" install "${ADD#"$ROOT"}"; }

# adding WHAT FUNCTION ...: runs it, shows its output if it fails, and takes away what was downloaded.
adding() {
    local what=$1 log=$ROOT.log rc=0
    shift
    "$@" </dev/null >"$log" 2>&1 || rc=$?
    [[ $rc -eq 0 ]] || tail -n 30 "$log" >&2
    as_owner rm -rf --one-file-system "$ROOT/var/cache/cscan-add"
    rm -f "$log"
    [[ $rc -eq 0 ]] || { warn "could not add $what (the end of the log is above)"; return 1; }
}
