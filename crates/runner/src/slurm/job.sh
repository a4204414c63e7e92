#!/bin/sh
# One job of a campaign, a task of an array in Slurm, in its directory. Slurm runs it on the node.
#   $1  dbdyno
#   $2  the directories of the jobs, without their numbers
#   then what begins a job and resumes it
pid= is_stopped= is_told= is_ended_by_slurm=

# A second signal would end dbdyno at once.
tell() {
    if test -n "$is_stopped" && test -n "$pid" && test -z "$is_told"; then
        is_told=1
        kill -TERM "$pid"
    fi
}
# Sent to this shell alone, so that dbdyno stops its workers and servers in order.
trap 'is_stopped=1; tell' USR1
# Slurm ends a job by a signal to all its processes at the same time: dbdyno has got it too.
trap 'is_ended_by_slurm=1' TERM

program=$1 directory=$2-$SLURM_ARRAY_TASK_ID
shift 2
umask 077
cd "$directory" || exit 9
node=${SLURMD_NODENAME:-$(uname -n)}
# Rounds of two nodes must not be in one run.
if test -f store.sqlite && test -f node && test "$(cat node)" != "$node"; then
    { mkdir -p "earlier/$SLURM_JOB_ID" && mv store.sqlite* "earlier/$SLURM_JOB_ID/"; } || exit 9
fi
rm -f ended
{ echo "$node" >node.new && mv node.new node; } || exit 9
XDG_CONFIG_HOME="$PWD/config"
export XDG_CONFIG_HOME
if test -z "$is_stopped$is_ended_by_slurm"; then
    "$program" --store store.sqlite "$@" --job "$(cat job)" >report 2>>log </dev/null &
    pid=$!
    tell
    # A signal ends the wait, but not what it waits for.
    while :; do
        wait "$pid"
        status=$?
        kill -0 "$pid" 2>/dev/null || break
    done
else
    status=130
fi
# So early that it had not begun to listen.
if test "$status" = 143 && test -n "$is_stopped$is_ended_by_slurm"; then status=130; fi
# A node that Slurm cannot reach is given up, and the job may have begun again on another one.
if test "$(cat node)" = "$node"; then echo "$status" >ended.new && mv ended.new ended; fi
exit "$status"
