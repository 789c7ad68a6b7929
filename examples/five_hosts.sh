#!/usr/bin/env bash
# sudo examples/five_hosts.sh FOLDER run sites.toml --out run
# Five machines on one: network namespaces 10.77.0.1 to 10.77.0.5, joined by a bridge. Host K works in FOLDER/hostK, where
# its own files are, and nowhere else. The namespaces are removed at the end. docs/machines.md uses it.
set -eu
folder=$(realpath "${1:?which folder has host1 to host5?}")
shift
refuse() { echo "error: $1" >&2; exit 2; }
for k in 1 2 3 4 5; do [ -d "$folder/host$k" ] || refuse "No folder $folder/host$k; each machine works in its own."; done
[ -n "$(command -v ip)" ] || refuse "No command ip; install iproute2."
launcher=$(command -v torchrun || realpath -e .venv/bin/torchrun 2>/dev/null) ||
    refuse "No torchrun; activate the environment that dpdl is in, or start where its .venv is."

down() {
    for k in 1 2 3 4 5; do
        ip link del "dpdl-$k" 2>/dev/null || true # goes with its namespace, but only when nobody is left in there
        ip netns del "dpdl$k" 2>/dev/null || true
    done
    ip link del dpdl-bridge 2>/dev/null || true
}
trap down EXIT
machines=
trap : INT # the machines hear Ctrl-C too: they save and end, and only then does the network go away
down
ip link add dpdl-bridge type bridge
ip link set dpdl-bridge up
for k in 1 2 3 4 5; do
    ip netns add "dpdl$k"
    ip link add "dpdl-$k" type veth peer name eth0 netns "dpdl$k"
    ip link set "dpdl-$k" master dpdl-bridge up
    ip -n "dpdl$k" address add "10.77.0.$k/24" dev eth0
    ip -n "dpdl$k" link set eth0 up
    ip -n "dpdl$k" link set lo up
done

for k in 1 2 3 4 5; do
    (
        cd "$folder/host$k"
        exec ip netns exec "dpdl$k" env GLOO_SOCKET_IFNAME=eth0 TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 \
            "$launcher" --nnodes 5 --node-rank $((k - 1)) --nproc-per-node 1 \
            --master-addr 10.77.0.1 --master-port 29500 -m dpdl "$@" --placement gloo >log 2>&1
    ) &
    machines="$machines $!"
done
status=0
for machine in $machines; do
    wait "$machine" || status=$?
    while kill -0 "$machine" 2>/dev/null; do wait "$machine" || true; done # Ctrl-C ended the wait, not the machine
done
exit "$status"
