# products lists what the readers own, as docs/products.md has it.
run 0 products
[[ $out == "sensor "*"PACE OCI"*"EnMAP"* && -z $err ]] || fail "$out$err"
while IFS= read -r row; do
    grep -qxF "    $row" "$SAMPLE/../docs/products.md" || fail "docs/products.md lacks: $row"
done <<<"$out"
refuse 2 "emit: takes no words" products emit
