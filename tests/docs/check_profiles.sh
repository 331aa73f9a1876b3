#!/bin/sh
# The error table of models/profiles/README.md is what `moeplan calibrate` gives today for the
# tables that the shipped profiles were fitted to. MOEPLAN_REWRITE=1 takes it over.
cd "${1:?usage: check_profiles.sh ROOT}" || exit 1
readme=models/profiles/README.md
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# one line a family: the median and 90th percentile of each split
rows() {
    "$MOEPLAN" calibrate "$1" --format csv | awk -F, -v table="$1" '
        function cell(family, out) { return (family, out) in error ? error[family, out] : "" }
        NR == 1 { next }
        !($1 in n) { order[++families] = $1; n[$1] = $3 }
        { error[$1, $2] = sprintf("%.1f / %.1f", $4, $5) }
        END {
            for (i = 1; i <= families; i++) {
                f = order[i]
                printf "| %s | %s | %d | %s | %s | %s | %s | %s | %s |\n", table, f, n[f],
                    cell(f, "none"), cell(f, "half"), cell(f, "configuration"),
                    cell(f, "model"), cell(f, "device"), cell(f, "control")
            }
        }'
}

{
    printf '| table | family | values | fitted | half out | configuration out '
    echo '| model out | device out | 70 % roofline |'
    echo '|---|---|---|---|---|---|---|---|---|'
    for table in moe_kernels_hopper deepgemm_kernels ep_dispatch_combine collectives; do
        rows "$table" || exit 1
    done
} > "$folder/table"
[ "$(wc -l < "$folder/table")" -gt 20 ] || { echo "calibrate gave no table"; exit 1; }

awk -v table="$folder/table" '
    /^<!-- errors -->$/ { print; while ((getline line < table) > 0) print line; skip = 1 }
    /^<!-- end -->$/ { skip = 0 }
    !skip { print }' "$readme" > "$folder/readme"
cmp -s "$readme" "$folder/readme" && exit 0
diff "$readme" "$folder/readme"
[ -n "$MOEPLAN_REWRITE" ] || { echo "MOEPLAN_REWRITE=1 takes the table over"; exit 1; }
cp "$folder/readme" "$readme"
