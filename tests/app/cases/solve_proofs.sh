# What is called optimal, infeasible or unbounded is so, and what float64 cannot decide is decided with 32 digits or
# said to be open.

# hilbert N SCALE: min the sum of x >= 0 where sum over j of a_ij x_j = sum over j of a_ij, a_ij = SCALE / (i + j - 1).
# Sums are those of float64 from left to right.
hilbert() {
    awk -v n="$1" -v scale="$2" 'BEGIN {
        print "NAME hilbert\nROWS\n N sum"
        for (i = 1; i <= n; i++) print " E r" i
        print "COLUMNS"
        for (j = 1; j <= n; j++) {
            print " x" j " sum 1"
            for (i = 1; i <= n; i++) printf " x%d r%d %.17g\n", j, i, scale / (i + j - 1)
        }
        print "RHS"
        for (i = 1; i <= n; i++) {
            right = 0
            for (j = 1; j <= n; j++) right += scale / (i + j - 1)
            printf " right r%d %.17g\n", i, right
        }
        print "ENDATA"
    }'
}

# ---- an optimum ----
# 5354228880 is a multiple of 1 to 23: all numbers are integers, x = (1, ..., 1) is the only solution.
hilbert 12 5354228880 >whole.mps
run 0 solve lp whole.mps x.csv --device cpu
[[ $out == *"status       optimal"*"objective    12 (min sum)"* ]] || fail "12: $out"
[[ $(grep -cE '^x[0-9]+,(1|0\.9999999999[0-9]*|1\.0000000000[0-9]*)$' x.csv) == 12 ]] || fail "x: $(cat x.csv)"
# With entries that are rounded the exact solution (by fractions) is another one.
hilbert 12 1 >h12.mps
run 0 solve lp h12.mps --verify --device cpu
[[ $out == *"status       optimal"*"objective    12.0000000076 (min sum)"*"proof        primal "* ]] || fail "$out"
hilbert 10 1 >h10.mps
for tolerance in 1e-9 1e-11; do
    run 0 solve lp h10.mps --verify --tolerance "$tolerance" --device cpu
    [[ $out == *"status       optimal"*"objective    10.000000001 (min sum)"* ]] || fail "$tolerance: $out"
done

# ---- x - y >= 1, -x + 1.0000000001 y >= 0: feasible from y = 1 / e on, e = 1.0000000001 - 1 = 1.000000082740371e-10
cat >far.mps <<'MPS'
NAME far
ROWS
 N c
 G one
 G two
COLUMNS
 x c 1 one 1
 x two -1
 y one -1 two 1.0000000001
RHS
 right one 1
ENDATA
MPS
run 0 solve lp far.mps --verify --device cpu
[[ $out == *"status       optimal"*"objective    9999999173.6 (min c)"* ]] || fail "far: $out"
# With 1,300 rows that say nothing it is too large for 32 digits. For float64 the sum of the rows is e y >= 1, which
# excludes what is below 1 / e.
awk '{ print } /two$/ && /G/ { for (i = 0; i < 1300; i++) print " G none" i }' far.mps >large.mps
for verify in "" --verify; do
    refuse 8 "large.mps ... (infeasible) is not proved ... 1e+10 ... (scale of the data: 1)" \
        solve lp large.mps --record "r$verify.json" $verify --device cpu
    [[ $out == *"status       not proved: infeasible"*"radius       1e+10: only points below it"* ]] || fail "$out"
done
grep -q '"status":	"not proved",' r.json || fail "the record: $(cat r.json)"
grep -q '"unproved":	"infeasible",' r.json || fail "the record: $(cat r.json)"
[[ ! -e r--verify.json ]] || fail "a record of what --verify refuses"
# The same of prices: max x where x <= y and y <= x / 1.0000000001 + 1.
sed -e 's/^ G/ L/' -e 's/ right one 1/ right two 1/' -e 's/c 1 one/c -1 one/' far.mps >high.mps
run 0 solve lp high.mps --verify --device cpu
[[ $out == *"status       optimal"*"objective    -9999999172.6 (min c)"* ]] || fail "high: $out"

# ---- certificates that hold for all points say so ----
sed 's/1\.0000000001/1/' far.mps >never.mps
run 0 solve lp never.mps --verify --device cpu
[[ $out == *"status       infeasible: 2 of the rows"*"radius       infinite: all points are excluded"* ]] || fail "$out"
sed 's/1\.0000000001/1/' high.mps >endless.mps
run 0 solve lp endless.mps --device cpu
[[ $out == *"status       unbounded: 2 of the columns"*"radius       infinite: all prices are excluded"* ]] || fail "$out"
