# The page of `view` in a real browser, where there is one: the tasks of docs/view.md click by click.
command -v python3 >/dev/null || exit 77
browser=$(command -v chromium || command -v google-chrome) || exit 77
[[ $("$HCUBE" version) != *"libmicrohttpd none"* ]] || exit 77
! sanitized || exit 77 # nothing but the browser's own time
cp "$SAMPLE"/{scene,class}.{hdr,img} "$SAMPLE"/library.{sli,hdr} .
run 0 index scene.hdr score.tif --formulas NDVI
run 0 write score.tif score.img
od -A n -t f4 -w4 -v score.img >score.txt
PYTHONDONTWRITEBYTECODE=1 python3 "$here/view_page.py" "$browser" "$(realpath "$HCUBE")" >seen.txt || fail "$(cat seen.txt)"
