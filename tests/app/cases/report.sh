# --report: a page that loads nothing and is whole, of usual scenes and of odd ones.
command -v python3 >/dev/null || exit 77
check() {
    python3 "$here/check_page.py" "$@" || fail "a page is not well formed"
    ! command -v tidy >/dev/null || tidy -errors -quiet "$@" 2>tidy.txt || fail "tidy: $(cat tidy.txt)"
    rm -f tidy.txt
}
has() {
    grep -qF -- "$1" "$2" || fail "$2 does not hold '$1'"
}
pictures() {
    grep -o 'src="data:image/png;base64,[^"]*"' "$1"
}

# ---- what it holds ----
chain=(read "$scene" --mask "$SAMPLE/class.img" ! mnf --components 3 ! knn --training "$SAMPLE/training.gpkg"
    --layer training --field class_name -k 3 --split 0.5 --report acc.txt ! write)
run 0 run --report page.html "${chain[@]}" c.tif
[[ $err == *"wrote page.html"* ]]
check page.html
for words in '<h1><bdi>scene.img' 'hcube run --report page.html read' '<h2>1. read' '<h2>2. mnf' '<h2>3. knn' '<h2>4. write' \
    'Masked pixels' '2,334' 'alt="Map of MNF 3' 'Iron-oxide soil' 'overall accuracy' '<h2>Time' 'hcube_record&quot;' \
    "default-src 'none'" 'rel="icon"' '@media print' 'prefers-color-scheme: dark' \
    '<h3><bdi>Accuracy' '<h3><bdi>Confusion matrix'; do
    has "$words" page.html
done
# When an input changed, as people write it, in the results of read and in the table of inputs.
stamp=$(date -u -r "$SAMPLE/scene.img" '+%Y-%m-%d %H:%M:%S UTC')
[[ $(grep -o "<td>$stamp</td>" page.html | wc -l) -ge 2 ]] || fail "inputs have no readable times"
grep -q '<td class="n" style="background:rgba(0,114,178,' page.html || fail "numbers of the matrix are not aligned"
[[ $(pictures page.html | wc -l) == 6 ]] # scene, mask, three components, classes
only page.html c.tif c.tif.aux.xml c.tif.hcube.json acc.txt acc.txt.hcube.json
# The other outputs are what they are without it, and so is the number of passes and steps.
run 0 run --overwrite "${chain[@]}" again.tif
cmp c.tif again.tif
steps() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print([s["stage"] for s in r["steps"]], r["blocks"]["passes"])' "$1"; }
[[ $(steps c.tif.hcube.json) == "$(steps again.tif.hcube.json)" ]]
run 0 plan --overwrite --report new.html "${chain[@]}" new.tif
[[ $out == *" 4. write"* && $out != *" 5."* && ! -e new.html ]]
# The floor of a pass is the longer of reading and writing; later ones read nothing, since the scene is kept.
python3 - page.html c.tif.hcube.json <<'CHECK' || fail "floors of passes"
import html.parser, json, sys
class Rows(html.parser.HTMLParser):
    rows, inside, cell = [], False, False
    def handle_starttag(self, tag, attrs):
        self.inside = (("aria-label", "passes over the scene, and their floors") in attrs) if tag == "div" else self.inside
        if self.inside and tag == "tr":
            self.rows.append([])
        self.cell = self.inside and tag in ("th", "td")
        if self.cell:
            self.rows[-1].append("")
    def handle_endtag(self, tag):
        self.cell = self.cell and tag not in ("th", "td")
        self.inside = self.inside and tag != "table"
    def handle_data(self, data):
        if self.cell:
            self.rows[-1][-1] += data
page = Rows()
page.feed(open(sys.argv[1]).read())
passes = json.load(open(sys.argv[2]))["seconds"]["passes"]
near = lambda text, value: abs(float(text) - value) <= 0.006 * value
assert len(page.rows) == 1 + len(passes) and len(passes) == 3, page.rows
column = {name: c for c, name in enumerate(page.rows[0])}
for row, this in zip(page.rows[1:], passes):
    floor = max(this["reading"], this["writing"])
    reads, writes = this is passes[0], this["for"] == "writing"
    assert (this["reading"] > 0) == (this["bytes_read"] > 1e6) == reads and (this["writing"] > 0) == writes, this
    assert floor <= this["all"] and near(row[column["s"]], this["all"]), (row, this)
    shown = row[column["floor, s"]], row[column["times the floor"]]
    assert shown == ("-", "-") if floor == 0 else near(shown[0], floor) and near(shown[1], this["all"] / floor), (row, this)
    assert near(row[column["read, MB"]], this["bytes_read"] / 1e6), (row, this)
CHECK
# Plots: a curve of the scene, and the eigenvalues.
plots() { sed -n "/<h3><bdi>$1/,/<\/figure>/p" "$2"; }
[[ $(plots "Mean spectrum" page.html) == *'<svg '*'wavelength [nm]'* ]] || fail "no plot of the mean spectrum"
[[ $(plots "MNF eigenvalues" page.html) == *'aria-label="Plot of 59 eigenvalues'*'>eigenvalue<'* ]] ||
    fail "no plot of the eigenvalues"
! grep -q '<?xml' page.html || fail "page.html has the declaration of an SVG"
# The pictures do not depend on blocks and threads.
pictures page.html >before.txt
run 0 run --overwrite --memory 120M --threads 1 --report page.html "${chain[@]}" c.tif
pictures page.html | cmp - before.txt
rm -f ./*

# ---- short forms, and without a file for the record ----
run 0 pca "$scene" p.tif --components 2 --report pca.html --record none
check pca.html
only p.tif pca.html
run 0 run read "$scene" ! denoise --report only.html # the report is what the chain leaves
check only.html
has "The scene after it" only.html
rm -f ./*

# ---- accuracy: with one component, classes are mixed up ----
run 0 run --report page.html read "$scene" ! mnf --components 1 ! knn --training "$SAMPLE/training.gpkg" --layer training \
    --field class_name -k 3 --reject 0.05 --split 0.5 --report acc.txt --report acc.json ! write c.tif
check page.html
figures() { sed -n "/<h3><bdi>$1/,/<\/figure>/p" page.html | grep -o '<td[^>]*>[^<]*' | sed 's/.*>//; s/,//g'; }
awk '/^ *[1-6]  [A-Z]/ { for (i = NF - 4; i <= NF; i++) print $i }' acc.txt >expected.txt
figures Accuracy | diff expected.txt - || fail "the accuracies of the page are not those of acc.txt"
awk '/^confusion/ { inside = 1 } inside && /^[1-6] / { for (i = 2; i <= NF; i++) print $i }' acc.txt >expected.txt
[[ $(wc -l <expected.txt) == 42 && $(sort -u expected.txt | wc -l) -gt 9 ]] || fail "no matrix of mixed classes"
figures "Confusion matrix" | diff expected.txt - || fail "the matrix of the page is not that of acc.txt"
has '>unclassified<' page.html
rm -f ./*

# ---- plots of what steps change and find ----
run 0 run --report found.html read "$scene" ! mnf --denoise --components 5 ! kmeans --clusters 4 --centres c.sli ! write k.tif
check found.html
run 0 run --report ends.html read "$scene" ! endmembers e.sli --count 4 ! extract x.sli --labels "$SAMPLE/training.gpkg" \
    --layer training --field class_name
check ends.html
if grep -q '<div class="plot"' found.html; then
    [[ $(plots "Mean spectra before and after it" found.html) == *'>before<'*'>after<'* ]] || fail "spectra of mnf --denoise"
    [[ $(plots "clusters" found.html) == *'>cluster 4<'* ]] || fail "no centres of clusters"
    [[ $(plots "endmembers" ends.html) == *'>endmember 4 '* ]] || fail "no endmembers"
    [[ $(plots "mean spectra" ends.html) == *'>Water<'* ]] || fail "no spectra of classes"
fi
rm -f ./*

# ---- which names ----
refuse 2 "--report page.txt ... end in .html" pca "$scene" p.tif --report page.txt
refuse 4 "nowhere" pca "$scene" p.tif --report nowhere/page.html
echo mine >page.html
refuse 2 "page.html" pca "$scene" p.tif --report page.html
[[ $(cat page.html) == mine ]]
only page.html
refuse 2 "writes this file already" run --overwrite --report page.html read "$scene" ! noise page.html ! pca ! write p.tif
refuse 2 "is written already" pca "$scene" p.tif --report page.html --record page.html --overwrite
[[ $(cat page.html) == mine ]]
# A run that fails leaves no page, and no part of one.
refuse 8 "pixel" mnf "$scene" out.img --overwrite --report page.html --noise-window 0,0,5,5
[[ $(cat page.html) == mine ]]
only page.html
rm -f ./*

# ---- odd scenes ----
# Names of classes in any script, and with elements of HTML.
header 'a&b<i>' 20 10 1 1 bsq
sed -i 's/^file type.*/file type = ENVI Classification/' 'a&b<i>.hdr'
{
    echo 'classes = 4'
    echo 'class names = {Unclassified, <script>alert(1)</script>, "مياه" & <b>, 水田}'
} >>'a&b<i>.hdr'
printf '\1\2\3\0%.0s' {1..50} >'a&b<i>.img'
run 0 run --report classes.html read 'a&b<i>.hdr' ! write out.tif
check classes.html
has '&lt;script&gt;alert(1)&lt;/script&gt;' classes.html
has 'مياه' classes.html
has 'a&amp;b&lt;i&gt;' classes.html
has 'No georeference' classes.html
# 500 classes: as many as can be read at a glance.
header many 25 20 1 2 bsq
sed -i 's/^file type.*/file type = ENVI Classification/' many.hdr
printf 'classes = 500\nclass names = {Unclassified%s}\n' "$(printf ', class %d' {1..499})" >>many.hdr
python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<500h", *range(500)))' >many.img
run 0 run --report many.html read many.hdr ! write many.tif
check many.html
has '<li>and 460 more <span class="n">92 %</span></li>' many.html
# One band, all nodata, a strip of one line.
header one 20 10 1 2 bsq
head -c 400 /dev/zero >one.img
run 0 run --report one.html read one.hdr ! write one.tif
check one.html
echo 'data ignore value = 0' >>one.hdr
run 0 run --report none.html read one.hdr ! write none.tif
check none.html
has 'No pixel that is shown has a value' none.html
! grep -q 'The scene</bdi>\|<bdi>kept' none.html || fail "none.html shows a scene without values"
header strip 4000 1 2 1 bsq
head -c 8000 /dev/urandom >strip.img
run 0 run --report strip.html read strip.hdr ! write strip.tif
check strip.html
has 'One pixel of 8 x 8 is shown' strip.html
rm -f ./*

# ---- a batch ----
mkdir in && cp "$SAMPLE"/scene.{hdr,img} in && cp "$scene" 'in/b & c.hdr' && cp "$SAMPLE/scene.img" 'in/b & c.img'
run 0 batch mnf --components 2 --scenes in --output 'out/{stem}.tif' --report pages/index.html --device cpu
check pages/index.html 'out/b & c.tif.hcube.html' out/scene.tif.hcube.html
has '<a href="../out/b%20%26%20c.tif.hcube.html">in/b &amp; c.hdr</a>' pages/index.html
[[ $(pictures pages/index.html | wc -l) == 2 ]]
has '<h2>2. mnf' out/scene.tif.hcube.html
# Again, with nothing to do; and where a report is lost: its row has no link.
run 0 batch mnf --components 2 --scenes in --output 'out/{stem}.tif' --report pages/index.html --device cpu
[[ $(grep -c '<a href' pages/index.html) == 2 ]]
rm out/scene.tif.hcube.html
run 0 batch mnf --components 2 --scenes in --output 'out/{stem}.tif' --report pages/index.html --device cpu --status
[[ $(grep -c '<a href' pages/index.html) == 1 ]]
cp 'out/b & c.tif.hcube.html' run.html
refuse 2 "run.html: exists ... no report" batch mnf --scenes in --output 'out/{stem}.tif' --report run.html
refuse 2 "must end in .html" batch mnf --scenes in --output 'out/{stem}.tif' --report run.csv
