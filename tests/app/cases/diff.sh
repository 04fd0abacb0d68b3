# diff: in what two records differ. Places and values: test_json_diff.
run 0 mnf "$scene" a.img --components 3 --device cpu --quiet
run 0 mnf "$scene" b.img --components 4 --device cpu --quiet
cp a.img.hcube.json again.json
run 0 mnf "$scene" a.img --components 3 --device cpu --quiet --overwrite

# Times, memory and dates do not count, unless they are asked for.
sed -i 's/ --overwrite//' a.img.hcube.json
run 0 diff a.img.hcube.json again.json
[[ $out == "0 differences (--all"*"times, memory and dates)" && -z $err ]] || fail "equal: $out$err"
run 1 diff a.img.hcube.json again.json --all
[[ $out == *"seconds.all: "* && $out != *"--all also"* ]] || fail "with --all: $out"

# Differences are exit code 1 without a message of failure, also where they are not printed.
run 1 diff a.img.hcube.json b.img.hcube.json --json d.json
[[ $out == *'steps[1].options.components: "3" and "4"'* && $out == *"steps[1].result.bands: 3 and 4"* && -z $err ]] || fail "$out$err"
grep -q '"place":	"steps\[1\].result.bands"' d.json || fail "$(cat d.json)"
run 1 diff a.img.hcube.json b.img.hcube.json --quiet
[[ -z $out$err ]] || fail "quiet: $out$err"

# Statistics and models as well, and only files of one kind.
run 0 cov "$scene" s.json --device cpu --quiet
run 0 cov "$scene" t.json --device cpu --quiet --window 10,10,40,40
run 1 diff s.json t.json
[[ $out == *"mean[0]: "*" differ, by up to "* ]] || fail "statistics: $out"
refuse 3 't.json: has "hcube_statistics", but a.img.hcube.json has "hcube_record"' diff a.img.hcube.json t.json
refuse 3 "none.json" diff none.json t.json
echo '{"a":1}' >other.json
refuse 3 "other.json: is no JSON file of hcube" diff s.json other.json
printf '{"hcube_record":' >cut.json
refuse 3 "cut.json: not a JSON file" diff s.json cut.json
refuse 2 "d.json" diff a.img.hcube.json b.img.hcube.json --json d.json
refuse 2 "b.img.hcube.json" diff a.img.hcube.json b.img.hcube.json --json b.img.hcube.json --overwrite
