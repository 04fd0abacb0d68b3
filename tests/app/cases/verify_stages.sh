# --verify of every stage that makes bands, with every band that it can add, on a device: a GPU, or what stands in for one.
if [[ $("$HCUBE" devices) == *"gpu    none: "* ]]; then
    if [[ ! -e $MODULES/stand_in.so ]]; then
        echo "skipped: there is no GPU, and nothing that stands in for one"
        exit 77
    fi
    export HCUBE_GPU_MODULE=$MODULES/stand_in.so
fi
. "$(dirname "${BASH_SOURCE[0]}")/../stage_chains.sh"

# check STEP WORD...: verifies the chain with this stage, which may be several words.
checked=
check() {
    checked+=" $1"
    run 0 run --device gpu --verify 2 read part.img ! "$@" ! write out.tif --overwrite
    [[ $err == *"verified 2 tiles"* ]] || fail "$*: says $err"
    [[ $(tr -d '\n\t ' <out.tif.hcube.json) == *'"exact":false'* ]] || fail "$*: was not computed on a device: $(<out.tif.hcube.json)"
}

make_chain_inputs
each_chain check
# Nothing was forgotten: those that are left draw or write.
for stage in $("$HCUBE" stages | sed 's/ .*//'); do
    case $stage in
    read | write | figure | preview) ;;
    *) [[ $checked == *" $stage"* ]] || fail "$stage is not verified here" ;;
    esac
done
