#!/bin/sh
# Makes the folders here anew: check out c50b93c elsewhere, build it, and run this with its `dpdl`, here.
set -eu
small="--dataset digits --model own_model:Linear --agents 3 --batch 8 --rounds 2 --sigma 1 --quiet"
dpdl run --algorithm dpdl $small --out dpdl
dpdl run --algorithm dp-dpsgd $small --out dp-dpsgd
dpdl run --algorithm dpdl-sound --noise-split calibrated $small --out dpdl-sound
dpdl run --algorithm muffliato $small --out muffliato
dpdl compare --algorithms dpdl-sound,dp-dpsgd --lr 0.2 --alpha 1.2 $small --out comparison
dpdl tune --over lr --trials 1 --algorithm dp-dpsgd $small --out search
find . -name '*.png' -o -name .lock | xargs rm
