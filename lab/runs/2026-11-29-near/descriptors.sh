# Descriptors of photographs by inner product, by two programs: descriptors.sh BEFORE AFTER DIR > descriptors.txt. DIR is of ../2026-11-28-held/sets.py.
truth=$3/products.gt.ibin
search() {
    "$1" search "$3/products-index" --queries "$queries" --truth "$truth" "$4" "$5" --json |
        python3 -c "import json, sys; found = json.load(sys.stdin); print('$2', '$4', '$5', found['recall'], found['pages_per_query'], found['list_size'])"
}
for set in gist.fbin sift.u8bin; do
    name=${set%.*} end=${set#*.}
    base=$3/$name.base.$end queries=$3/$name.own.$end
    "$2" ground-truth --data "$base" --queries "$queries" --metric ip -k 10 --out "$truth" --quiet >&2
    for preset in diskann starling pageway; do
        for program in "$1" "$2"; do
            rm -rf "$3/products-index"
            "$program" build --data "$base" --metric ip --memory 20% --preset $preset --out "$3/products-index" --quiet >&2
            label="$name $preset $([ "$program" = "$1" ] && echo before || echo after)"
            for effort in "--list-size 20" "--list-size 100" "--recall 0.9" "--recall 0.95" "--recall 0.99"; do
                # shellcheck disable=SC2086
                search "$program" "$label" "$3" $effort
            done
        done
    done
done
