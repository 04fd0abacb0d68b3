# Accuracy on real scenes with a fixed split, as docs/stages/knn.md has it.
if [[ -z ${HCUBE_DATA:-} ]]; then
    echo "skipped: HCUBE_DATA is not set (a folder of real scenes)"
    exit 77
fi
salinas=$HCUBE_DATA/salinas-a/salinas_a
samples=$HCUBE_DATA/indian-pines-samples/ip_samples

# measured OA AA KAPPA PATH FRACTION WORD...: knn with these words reports these figures.
measured() {
    local overall=$1 average=$2 kappa=$3 path=$4 fraction=$5
    shift 5
    run 0 run read "$path.img" ! knn --training "${path}_gt.img" --split "$fraction" --seed 1 "$@" --device cpu \
        --report report.txt --overwrite
    grep -qx "overall accuracy   $overall" report.txt || fail "knn $*: $(grep '^overall' report.txt), not $overall"
    grep -qx "average accuracy   $average" report.txt || fail "knn $*: $(grep '^average' report.txt), not $average"
    grep -qx "kappa              $kappa" report.txt || fail "knn $*: $(grep '^kappa' report.txt), not $kappa"
}

measured 0.9911 0.9898 0.9888 "$salinas" 0.1 -k 1
measured 0.9811 0.9808 0.9763 "$salinas" 0.1 -k 5
measured 0.9859 0.9849 0.9823 "$salinas" 0.1 -k 5 --vote distance
measured 0.9828 0.9799 0.9784 "$salinas" 0.1 -k 5 --scale unit-variance
measured 0.9952 0.9950 0.9940 "$salinas" 0.1 -k 1 --metric angle
measured 0.9871 0.9874 0.9839 "$salinas" 0.1 -k 5 --metric angle
measured 0.6561 0.6575 0.6305 "$samples" 0.5 -k 1
measured 0.6850 0.7018 0.6617 "$samples" 0.5 -k 5
measured 0.6590 0.6729 0.6336 "$samples" 0.5 -k 1 --metric angle
