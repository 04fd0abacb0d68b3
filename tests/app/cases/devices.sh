# What --device takes, on machines with and without a GPU. Modules that stand in for a GPU: MODULES/stand_in*.so.
unset HCUBE_GPU_MODULE HCUBE_STAND_IN
module=$(dirname "$HCUBE")/libhcube_gpu.so
# The system leaves few bytes for thread variables with a fixed place: a module that has some is not loaded everywhere.
[[ ! -e $module || $(readelf -d "$module") != *STATIC_TLS* ]] || fail "the GPU module has thread variables with a fixed place"
run 0 devices
[[ $(grep -c '^cpu    .' <<<"$out") == 1 && $(grep -c '^gpu' <<<"$out") -ge 1 ]] || fail "lists $out"
has_gpu=1
! grep -q '^gpu    none: ' <<<"$out" || has_gpu=
if [[ ! $has_gpu ]]; then
    reason=$(sed -n 's/^gpu    none: //p' <<<"$out")
    if [[ -e $module ]]; then
        [[ $reason == "no NVIDIA driver was found" || $reason == "no GPU was found" ||
            $reason == "the NVIDIA driver is for CUDA "* ]] || fail "the GPU module was not loaded: $reason"
    else
        [[ $reason == "the GPU module is not there (libhcube_gpu.so)" ]] || fail "says $reason"
    fi
    refuse 7 "--device gpu: $reason" mnf "$scene" out.img --device gpu
    refuse 7 "--device gpu:1: $reason" run --device gpu:1 read "$scene" ! write out.img
    # Without the module every run is one on the CPU: that is no news.
    run 0 mnf "$scene" auto.img --record none
    if [[ $reason == *"is not there"* ]]; then
        [[ $err != *"computing on the CPU"* ]] || fail "says $err"
    else
        [[ $err == *"note: computing on the CPU ($reason)"* ]] || fail "says $err"
    fi
    rm auto.img auto.hdr
fi
refuse 7 "--device gpu:99" mnf "$scene" out.img --device gpu:99
for device in gpu:x gpu: gpu:-1 gpu1 tpu ''; do
    refuse 2 "--device $device ... auto, cpu, gpu or gpu:N" mnf "$scene" out.img --device "$device"
done
run 0 mnf "$scene" cpu.img --record none --device cpu --save-model cpu.json
[[ $err != *"computing on"* ]] || fail "says $err"

# Modules that cannot be used: one line, and the CPU computes by itself.
echo "not a library" >text.so
libm=$(ldd "$HCUBE" | awk '/libm\.so/ {print $3}')
for broken in /nonexistent text.so "$PWD" "$libm" "$MODULES/stand_in_old.so"; do
    [[ $broken ]] || continue
    export HCUBE_GPU_MODULE=$broken
    run 0 devices
    [[ $(wc -l <<<"$out") == 2 && $out == *$'\n'"gpu    none: "*"$broken"* && ! $err ]] || fail "$broken: lists $out"
    refuse 7 "$broken" mnf "$scene" out.img --device gpu
    run 0 mnf "$scene" auto.img --record none --save-model auto.json
    [[ $err == *"note: computing on the CPU ("*"$broken"* ]] || fail "$broken: says $err"
    cmp auto.img cpu.img
    cmp auto.json cpu.json
    rm auto.*
done
unset HCUBE_GPU_MODULE
only cpu.img cpu.hdr cpu.json text.so
rm text.so

# on_gpu: what holds on a GPU and on what stands in for one.
on_gpu() {
    run 0 mnf "$scene" gpu.img --device gpu --save-model gpu.json
    [[ $err != *"computing on the CPU"* ]] || fail "says $err"
    grep -q '"backend":[[:space:]]*"gpu"' gpu.img.hcube.json || fail "the record names another backend"
    cmp gpu.json cpu.json
    run 0 mnf "$scene" auto.img --record none
    cmp auto.img gpu.img
    run 0 mnf "$scene" one.img --record none --device gpu:0 --threads 1
    cmp one.img gpu.img
    rm auto.* one.* gpu.*
    run 0 plan --device gpu read "$scene" ! mnf ! write out.img
    [[ $out == *"kept on the device"* && $out == *" on the device"* ]] || fail "plans $out"
    refuse 5 "--device-memory" mnf "$scene" out.img --device gpu --device-memory 1M
    refuse 5 "--device-memory" plan --device gpu --device-memory 4096 read "$scene" ! mnf ! write out.img
    refuse 5 "--memory" mnf "$scene" out.img --device gpu --memory 1M
    refuse 7 "--device gpu:99" mnf "$scene" out.img --device gpu:99
    only cpu.img cpu.hdr cpu.json
}
[[ ! $has_gpu ]] || on_gpu
export HCUBE_GPU_MODULE=$MODULES/stand_in.so
run 0 devices
[[ $out == *$'\n'"gpu:0  stand-in 0, compute capability 1.0, 1.0 GiB"$'\n'"gpu:1  stand-in 1, "* ]] || fail "lists $out"
on_gpu
HCUBE_STAND_IN=1 run 0 devices
[[ $out == *$'\n'"gpu    stand-in 0, "* ]] || fail "lists $out"
HCUBE_STAND_IN=0 run 0 devices
[[ $out == *$'\n'"gpu    none: no GPU was found" ]] || fail "lists $out"
HCUBE_STAND_IN=0 refuse 7 "--device gpu: no GPU was found" mnf "$scene" out.img --device gpu

# A process sees the GPU that it opens and no other; gpu:N counts those that CUDA_VISIBLE_DEVICES leaves.
# opens DEVICE NAME: what the record says.
opens() {
    run 0 mnf "$scene" own.img --device "$1"
    grep -q "\"name\":[[:space:]]*\"$2\"" own.img.hcube.json || fail "$1: $(grep 'stand-in' own.img.hcube.json)"
    cmp own.img one.img
    rm own.*
}
run 0 mnf "$scene" one.img --device gpu --record none
export HCUBE_STAND_IN=3
opens gpu:1 "stand-in 1, 1 seen"
opens gpu "stand-in 0, 1 seen"
opens auto "stand-in 0, 1 seen"
CUDA_VISIBLE_DEVICES=2,1 opens gpu:0 "stand-in 2, 1 seen"
CUDA_VISIBLE_DEVICES=2,1 opens gpu:1 "stand-in 1, 1 seen"
HCUBE_STAND_IN_UNKNOWN=1 opens gpu:2 "stand-in 2, 3 seen"
CUDA_VISIBLE_DEVICES=2 refuse 7 "--device gpu:1" mnf "$scene" out.img --device gpu:1
rm one.*
only cpu.img cpu.hdr cpu.json
