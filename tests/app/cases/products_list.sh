# products lists what the readers own, as docs/products.md has it.
run 0 products
[[ $out == "sensor "*"PACE OCI"*"EnMAP"* && -z $err ]] || fail "$out$err"
while IFS= read -r row; do
    grep -qxF "    $row" "$SAMPLE/../docs/products.md" || fail "docs/products.md lacks: $row"
done <<<"$out"
refuse 2 "products: emit: one word too many" products emit
run 0 products --json
[[ $(tr -d " \t\n" <<<"$out") == *'"product":"EMITL2Amask","version":"V003","array":"/mask","axes":"linesampleband"'* ]] ||
    fail "the JSON lacks the layout of the newest masks"
