# Reports in a real browser, where there is one: widths, light and dark, nothing asked for, nothing complained about.
command -v python3 >/dev/null || exit 77
browser=$(command -v chromium || command -v google-chrome) || exit 77
cp "$scene" wide.hdr && cp "$SAMPLE/scene.img" wide.img
run 0 run --report run.html read wide.hdr --mask "$SAMPLE/class.img" ! mnf --components 3 ! knn \
    --training "$SAMPLE/training.gpkg" --layer training --field class_name -k 3 --split 0.5 --report acc.txt ! write c.tif
header "$(printf 'long%.0s' {1..40})" 4000 1 2 1 bsq
head -c 8000 /dev/zero >"$(printf 'long%.0s' {1..40})".img
run 0 run --report strip.html read long*.hdr ! write strip.tif
run 0 batch pca --components 2 --scenes wide.hdr --output 'out/{stem}.tif' --report index.html --device cpu
# 30 classes: their matrix fits a sheet of paper.
header many 60 60 4 1 bip
header class 60 60 1 1 bsq
sed -i 's/^file type.*/file type = ENVI Classification/' class.hdr
printf 'classes = 31\nclass names = {Unclassified%s}\n' "$(printf ', A class of some kind %d' {1..30})" >>class.hdr
python3 -c 'import sys; c = [y // 10 * 5 + x // 12 for y in range(60) for x in range(60)]
open("class.img", "wb").write(bytes(v + 1 for v in c))
open("many.img", "wb").write(bytes((v * f + p * p % 97) % 251 for p, v in enumerate(c) for f in (37, 91, 53, 17)))'
run 0 run --report matrix.html read many.hdr ! knn --training class.hdr -k 3 --split 0.5 --report many.txt ! write m.tif
grep -q '<table class="many">' matrix.html || fail "no matrix of many classes"
python3 "$here/browse.py" "$browser" run.html strip.html index.html matrix.html || fail "a page is not right in a browser"
# The test itself sees what is wrong.
cat >wrong.html <<'PAGE'
<!DOCTYPE html><html lang="en"><title>wrong</title><style>body { background: white; }</style>
<div style="width: 3000px">wide</div><img alt="" src="file:///nowhere.png"><script>console.log("x")</script></html>
PAGE
! python3 "$here/browse.py" "$browser" wrong.html >seen.txt || fail "a page that is wrong passes"
for fault in "asks for file:///nowhere.png" "is 3008 pixels wide" "1 pictures fail" "a script speaks" "dark: has the background"; do
    grep -qF "$fault" seen.txt || fail "not seen: $fault: $(cat seen.txt)"
done
