# What zsh offers on a terminal: options, words, and files by their type.
command -v zsh >/dev/null && command -v python3 >/dev/null || exit 77
mkdir sub
touch scene.hdr scene.img 'two words.img' notes.txt page.html mnf.hcube model.json
asked=() expected=()
offers() {
    asked+=("$1")
    expected+=("$2")
}
offers 'hcube mnf ' 'scene.hdr|scene.img|sub/|two\ words.img'
offers 'hcube mnf scene' 'scene.hdr|scene.img'
offers 'hcube rerun ' 'model.json|sub/'
offers 'hcube plan mn' 'mnf|mnf.hcube'
offers 'hcube run m' 'mnf.hcube'
offers 'hcube run read ' 'scene.hdr|scene.img|sub/|two\ words.img'
offers 'hcube run read scene.hdr ! mnf --model ' 'model.json|sub/'
offers 'hcube run read scene.hdr ! mnf --model=' 'model.json|sub/'
offers 'hcube mnf scene.hdr out.tif --report ' 'page.html|sub/'
offers 'hcube run --device ' 'auto|cpu|gpu'
offers 'hcube mnf scene.hdr out.tif --de' '--denoise|--device|--device-memory'
HOME=$PWD python3 "$here/zsh_offers.py" "$HCUBE" "${asked[@]}" >offered
for ((n = 0; n < ${#asked[@]}; n++)); do
    read -r line
    [[ $line == "${expected[n]}" ]] || fail "zsh offers '$line' for '${asked[n]}' and not '${expected[n]}'"
done <offered
