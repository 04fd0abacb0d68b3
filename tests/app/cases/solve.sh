# One problem from files: sparse solutions and linear programs, what is written of them, and what is refused.

# npy NAME SHAPE BYTES: a .npy file of int8.
npy() {
    printf "%b{'descr': '|i1', 'fortran_order': False, 'shape': (%s), }%*s\n" '\x93NUMPY\x01\x00\x76\x00' "$2" \
        $((62 - ${#2})) '' >"$1"
    printf '%b' "$3" >>"$1"
}

run 0 solve --help
[[ $out == *"l1 A B X"* && $out == *"lp MODEL"* ]] || fail "help: $out"
run 0 solve l1 --help
[[ $out == *"--lambda-relative FACTOR"*"--device-memory SIZE"* ]] || fail "help: $out"
run 0 solve lp --help
[[ $out == *"--certificate FILE.csv"* ]] || fail "help: $out"

# ---- l1: of the identity the solution is b, each entry nearer to 0 by lambda ----
npy identity.npy "3, 3" '\x01\x00\x00\x00\x01\x00\x00\x00\x01'
npy b.npy "3," '\x05\xfd\x01'
npy row.npy "1, 3" '\x05\xfd\x01'
printf '\x01\x00\x00\x00\x01\x00\x00\x00\x01' >identity.img
header identity 3 3 1 1 bsq
for device in cpu gpu; do
    [[ $device == cpu ]] || export HCUBE_GPU_MODULE=$MODULES/stand_in.so
    run 0 solve l1 identity.npy b.npy "$device.npy" --lambda 1 --device "$device"
    [[ $out == *"3 rows x 3 columns"*"objective    7.5 "*"non-zeros    2 of 3"*"wrote        $device.npy" ]] || fail "$out"
    [[ $(tail -c 12 "$device.npy" | od -An -f | tr -s ' ') == " 4 -2 0" ]] || fail "x is $(tail -c 12 "$device.npy" | od -An -f)"
    grep -q '"objective":	7.5,' "$device.npy.hcube.json" || fail "no objective in the record"
    grep -q "\"backend\":	\"$device\"" "$device.npy.hcube.json" || [[ $device == gpu ]] || fail "no device in the record"
done
unset HCUBE_GPU_MODULE
cmp cpu.npy gpu.npy
run 0 solve l1 identity.img row.npy x.img --lambda-relative 0.2 --device cpu --record none
[[ $out == *"lambda       1"* ]] || fail "lambda: $out"
cmp <(tail -c 12 cpu.npy) x.img
run 0 solve l1 identity.npy b.npy x.tif --lambda 1 --positive --device cpu --record r.json --quiet
[[ -z $out && -z $err && ! -e x.tif.hcube.json ]] || fail "quiet: $out $err"
grep -q '"objective":	9.5' r.json || fail "the record: $(cat r.json)" # 1/2 (1 + 9 + 1) + 4
run 0 info x.tif
[[ $out == *"3 lines x 1 samples x 1 bands of float32"* ]] || fail "x.tif: $out"
run 0 solve l1 identity.npy b.npy exact.npy --lambda 1 --device cpu --overwrite
[[ $out =~ "lambda       1"$'\n'"status       converged"$'\n'(polished.*$'\n')?"objective    7.5 (1/2 |A x - b|^2 + lambda |x|_1)"$'\n'"gap          "[0-9.e-]+" of the objective"$'\n'"residual     "[0-9.]+" of |b|"$'\n'"non-zeros    2 of 3"$'\n'"iterations   "[0-9]+$'\n'"time         "[0-9.]+" s, and "[0-9.]+" s for reading" ]] || fail "lines: $out"
run 0 solve l1 identity.npy b.npy exact.npy --solver alm --device cpu --overwrite
[[ $out == *"status       converged"*"(|x|_1)"*"outer steps"* ]] || fail "alm: $out"
# Iterations that end too early are exit code 8, unless the columns are known by then: of (10 9; 9 10) and b = (19, 19)
# the solution is 1 - lambda / 19^2, twice.
npy alike.npy "2, 2" '\x0a\x09\x09\x0a'
npy nineteen.npy "2," '\x13\x13'
npy unequal.npy "2," '\x13\x12'
refuse 8 "some.npy: written ... limit of iterations" \
    solve l1 identity.npy b.npy some.npy --lambda 1e-3 --iterations 1 --tolerance 0 --device cpu
[[ $out == *"status       unfinished"* && -e some.npy ]] || fail "$out $err"
grep -q '"status":	"unfinished",' some.npy.hcube.json || fail "the record: $(cat some.npy.hcube.json)"
run 0 solve l1 alike.npy unequal.npy polished.npy --lambda 1 --iterations 20 --tolerance 1e-6 --device cpu
[[ $out == *"status       converged"*"polished "*"iterations   20"* ]] || fail "polished: $out"
grep -q '"polished":	true' polished.npy.hcube.json || fail "the record: $(cat polished.npy.hcube.json)"
HCUBE_GPU_MODULE=$MODULES/stand_in.so run 0 solve l1 alike.npy unequal.npy same.npy --lambda 1 --iterations 20 \
    --tolerance 1e-6 --device gpu
cmp polished.npy same.npy
refuse 8 "one.npy: written, but" solve l1 identity.npy b.npy one.npy --solver alm --outer 1 --iterations 1 \
    --tolerance 1e-9 --positive --device cpu
refuse 2 "x.img: the file exists already" solve l1 identity.npy b.npy x.img --device cpu
run 0 solve l1 identity.npy b.npy x.img --overwrite --device cpu

before=$(cksum identity.npy b.npy identity.img identity.hdr x.img)
for bad in "identity.npy" "identity.img" "identity.hdr"; do
    refuse 2 "would replace the input" solve l1 "${bad/.hdr/.img}" b.npy "$bad" --overwrite
done
refuse 2 "would replace the input b.npy" solve l1 identity.npy b.npy ./b.npy --overwrite
refuse 2 "solve: no problem given" solve
refuse 2 "solve: l2: unknown problem" solve l2
refuse 2 "solve l1:" solve l1 identity.npy b.npy
refuse 2 "--lamda: unknown option, did you mean --lambda?" solve l1 identity.npy b.npy y.npy --lamda 1
refuse 2 "must be above 0" solve l1 identity.npy b.npy y.npy --lambda 0
refuse 2 "must be above 0" solve l1 identity.npy b.npy y.npy --lambda-relative -1
refuse 2 "give one of --lambda and --lambda-relative" solve l1 identity.npy b.npy y.npy --lambda 1 --lambda-relative 1
refuse 2 "--lambda needs --solver fista" solve l1 identity.npy b.npy y.npy --lambda 1 --solver alm
refuse 2 "--outer needs --solver alm" solve l1 identity.npy b.npy y.npy --outer 3
refuse 3 "needs a vector of as many" solve l1 identity.npy identity.npy y.npy
refuse 3 "nowhere.npy: there is no such file" solve l1 nowhere.npy b.npy y.npy
refuse 3 "has 64 bands, a matrix" solve l1 "$scene" b.npy y.npy
refuse 4 "the directory missing" solve l1 identity.npy b.npy missing/y.npy
for taken in y.npy identity.npy ./b.npy; do
    refuse 2 "$taken: is the place of the record" solve l1 identity.npy b.npy y.npy --record "$taken" --overwrite
done
npy zero.npy "3," '\x00\x00\x00'
refuse 8 "A'b is 0" solve l1 identity.npy zero.npy y.npy --device cpu
head -c 130 identity.npy >short.npy
refuse 3 "short.npy: 3 x 3 values of 1 bytes ... 137 bytes ... 130" solve l1 short.npy b.npy y.npy
[[ ! -e y.npy && $(cksum identity.npy b.npy identity.img identity.hdr x.img) == "$before" ]] || fail "files changed"
[[ -z $(find . -name '*.partial') ]] || fail "leftovers: $(entries)"

# ---- lp ----
cat >wyndor.mps <<'MPS'
NAME wyndor
OBJSENSE MAX
ROWS
 N profit
 L plant1
 L plant2
 L plant3
COLUMNS
 doors profit 3 plant1 1
 doors plant3 3
 "glass,doors" profit 5 plant2 2
 "glass,doors" plant3 2
RHS
 plant1 4 plant2 12
 plant3 18 profit -0.5
ENDATA
MPS
sed 's/ plant3 18/ plant3 -18/' wyndor.mps >infeasible.mps
sed 's/^ L/ G/' wyndor.mps >unbounded.mps
run 0 solve lp wyndor.mps x.csv --prices y.csv --verify --device cpu --certificate none.csv
[[ $out == *"wyndor: 3 rows x 2 columns, 4 entries"*"status       optimal"*"objective    36.5 (max profit)"* ]] || fail "$out"
[[ $out == *"proof        primal "*"wrote        x.csv"* && ! -e none.csv ]] || fail "$out"
[[ $(cat x.csv) == $'name,value\ndoors,2\n"""glass,doors""",6' ]] || fail "x.csv: $(cat x.csv)"
[[ $(head -n 2 y.csv) == $'name,price\nplant1,0' && $(sed -n 3p y.csv) == plant2,1.5 ]] || fail "y.csv: $(cat y.csv)"
grep -q '"objective":	36.5,' x.csv.hcube.json || fail "the record: $(cat x.csv.hcube.json)"
HCUBE_GPU_MODULE=$MODULES/stand_in.so run 0 solve lp wyndor.mps same.csv --verify --device gpu
cmp x.csv same.csv
printf 'ROWS\n N c\nCOLUMNS\n x c 1\n y c -2\nBOUNDS\n UP y 3\nENDATA\n' >bounds.mps
run 0 solve lp bounds.mps --verify --device cpu
[[ $out == *"0 rows x 2 columns, 0 entries"*"objective    -6 (min c)"* ]] || fail "no rows: $out"
gzip -k wyndor.mps
run 0 solve lp wyndor.mps.gz --device cpu
[[ $out == *"objective    36.5 "* ]] || fail "packed: $out"
run 0 solve lp infeasible.mps --verify --certificate farkas.csv --device cpu
[[ $out == *"status       infeasible: 1 of the rows"*"gap 0"* ]] || fail "infeasible: $out"
[[ $(head -n 1 farkas.csv) == name,multiplier && $(grep -c plant farkas.csv) == 3 ]] || fail "$(cat farkas.csv)"
run 0 solve lp unbounded.mps --verify --certificate ray.csv --device cpu
[[ $out == *"status       unbounded: "*"gap 0"* && $(head -n 1 ray.csv) == name,value,ray ]] || fail "unbounded: $out"
refuse 8 "infeasible.mps ... is infeasible, new.csv is not written" solve lp infeasible.mps new.csv --device cpu
refuse 8 "unbounded.mps ... is unbounded, new.csv is not written" solve lp unbounded.mps --prices new.csv --device cpu
refuse 8 "no optimum within 1 pivots" solve lp wyndor.mps new.csv --pivots 1 --device cpu
refuse 2 "x.csv: the file exists already" solve lp wyndor.mps x.csv --device cpu
run 0 solve lp wyndor.mps x.csv --overwrite --quiet --device cpu
[[ -z $out && -z $err ]] || fail "quiet: $out $err"
refuse 2 "wyndor.mps: is used twice" solve lp wyndor.mps wyndor.mps --overwrite
refuse 2 "new.csv: is used twice" solve lp wyndor.mps new.csv --prices new.csv
refuse 2 "new.csv: is the place of the record" solve lp wyndor.mps new.csv --record new.csv
refuse 2 "new.csv.hcube.json: is the place of the record" solve lp wyndor.mps new.csv --prices new.csv.hcube.json
refuse 2 "--tolerance" solve lp wyndor.mps --tolerance 1
refuse 3 "there is no such file" solve lp nowhere.mps
head -n 12 wyndor.mps >cut.mps
refuse 3 "cut.mps: ends in line 12 without ENDATA" solve lp cut.mps
sed 's/^RHS/QSECTION/' wyndor.mps >quadratic.mps
refuse 6 "quadratic.mps: line 13: no section ... 'QSECTION'" solve lp quadratic.mps
sed 's/^ENDATA/BOUNDS\n UI b doors 3\nENDATA/' wyndor.mps >integer.mps
run 0 solve lp integer.mps --device cpu
[[ $err == *"note: 1 integer column taken as continuous"* ]] || fail "integers: $err"
[[ ! -e new.csv ]] || fail "new.csv was written"
[[ -z $(find . -name '*.partial') ]] || fail "leftovers: $(entries)"
