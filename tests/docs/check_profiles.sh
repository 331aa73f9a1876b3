#!/bin/sh
# The error tables of models/profiles/README.md are what `moeplan calibrate` gives today for the
# tables of kernels that the shipped profiles were fitted to, and `moeplan validate` for served
# deployments. MOEPLAN_REWRITE=1 takes them over.
cd "${1:?usage: check_profiles.sh ROOT}" || exit 1
readme=models/profiles/README.md
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# one line a family: the median and 90th percentile of each split, and what share an interval
# holds of configurations that neither its fit nor its width has seen
rows() {
    "$MOEPLAN" calibrate "$1" --format csv | awk -F, -v table="$1" '
        function cell(family, out) { return (family, out) in error ? error[family, out] : "" }
        NR == 1 { next }
        !($1 in n) { order[++families] = $1; n[$1] = $3 }
        { error[$1, $2] = sprintf("%.1f / %.1f", $4, $5) }
        $2 == "configuration" { held[$1] = sprintf("%.0f %%", $10) }
        END {
            for (i = 1; i <= families; i++) {
                f = order[i]
                printf "| %s | %s | %d | %s | %s | %s | %s | %s | %s | %s |\n", table, f, n[f],
                    cell(f, "none"), cell(f, "half"), cell(f, "configuration"), held[f],
                    cell(f, "model"), cell(f, "device"), cell(f, "control")
            }
        }'
}

{
    printf '| table | family | values | fitted | half out | configuration out | held '
    echo '| model out | device out | 70 % roofline |'
    echo '|---|---|---|---|---|---|---|---|---|---|'
    for table in moe_kernels_hopper deepgemm_kernels ep_dispatch_combine collectives; do
        rows "$table" || exit 1
    done
} > "$folder/table"
# one line an engine, and one of runs that draft: median and 90th percentile of errors, how many
# lie in their intervals, and the median of half their widths; time to the first token up to a
# concurrency of 64, as far as a queue is not all of it
serving() {
    "$MOEPLAN" validate serving_latency --rows --format csv 2> /dev/null > "$folder/rows" ||
        return 1
    awk -F, '
        function mark(profile, what, error, agrees, width) {
            key = profile SUBSEP what
            list[key] = list[key] " " error
            widths[key] = widths[key] " " width
            n[key]++
            within[key] += agrees
        }
        function sorted(text, v, all, i, k, t) {
            k = split(text, v, " ")
            for (i = 2; i <= k; i++)
                for (t = i; t > 1 && v[t - 1] + 0 > v[t] + 0; t--) {
                    all = v[t]; v[t] = v[t - 1]; v[t - 1] = all
                }
            return k
        }
        function cell(profile, what, v, w, k) {
            k = sorted(list[profile, what], v)
            sorted(widths[profile, what], w)
            return sprintf("%d | %.1f / %.1f | %.0f %% | %.0f %%", k, v[int((k + 1) / 2)],
                v[int(0.9 * k + 0.5)], 100 * within[profile, what] / k, w[int((k + 1) / 2)])
        }
        FNR == NR { if (/workload.speculation.tokens/) drafts[$1]; next }
        FNR == 1 || $5 == "" { next }
        {
            what = $3 ~ /ttft/ ? "ttft" : "tpot"
            match($2, /_c[0-9]+/)
            if (what == "ttft" && substr($2, RSTART + 2, RLENGTH - 2) + 0 > 64)
                next
            profile = $2 ~ /vllm/ ? "vllm-serve" : $2 ~ /sglang/ ? "sglang-serve" : \
                $2 ~ /_h[12]00_/ ? "trtllm-serve-hopper" : "trtllm-serve-blackwell"
            if ($2 in drafts)
                profile = profile ", drafts"
            error = $6 < 0 ? -$6 : $6
            width = 100 * (sqrt($9 / $8) - 1)
            mark(profile, what, error, $7 == "agrees", width)
            mark("all", what, error, $7 == "agrees", width)
        }
        END {
            k = split("vllm-serve;sglang-serve;sglang-serve, drafts;trtllm-serve-hopper;" \
                "trtllm-serve-blackwell;all", name, ";")
            for (i = 1; i <= k; i++)
                printf "| %s | %s | %s |\n", name[i],
                    cell(name[i], "tpot"), cell(name[i], "ttft")
        }' models/published/serving_latency.csv "$folder/rows"
}

{
    printf '| profile | runs | a token | within | half width | runs to concurrency 64 '
    echo '| first token | within | half width |'
    echo '|---|---|---|---|---|---|---|---|---|'
    serving || exit 1
} > "$folder/serving"
[ "$(wc -l < "$folder/serving")" -eq 8 ] || { echo "validate gave no table"; exit 1; }
# half widths of layouts left out are the errors that the profiles state
for profile in vllm-serve sglang-serve trtllm-serve-hopper trtllm-serve-blackwell; do
    stated=$(awk -F'[ ,]+' '/is: error/ { printf "%.0f ", 100 * $7 }' \
        "models/profiles/$profile.yaml")
    said=$(awk -F'|' -v profile=" $profile " '$2 == profile && $3 == " layout " {
        print $6 + 0, $9 + 0, "" }' "$readme")
    [ "$stated" = "$said" ] ||
        { echo "$profile: errors of $stated, half widths of layouts left out $said"; exit 1; }
done
[ "$(wc -l < "$folder/table")" -gt 20 ] || { echo "calibrate gave no table"; exit 1; }

# whole steps as validate predicts them, or the rows that $2 names: sorted errors, the median of
# the signed ones (as validate has it), how many intervals hold and their median half width
steps() {
    "$MOEPLAN" validate "$1" --format csv | awk -F, -v table="$1" -v rows="${2:-.}" '
        $3 ~ /^time\./ && $2 ~ rows && $6 != "" {
            error = $6 < 0 ? -$6 : $6
            for (i = n + 1; i > 1 && biased[i - 1] > $6; i--)
                biased[i] = biased[i - 1]
            biased[i] = $6 + 0
            inside += $7 == "agrees"
            for (i = ++n; i > 1 && sorted[i - 1] > error; i--) sorted[i] = sorted[i - 1]
            sorted[i] = error
            width = 100 * (sqrt($9 / $8) - 1)
            for (i = n; i > 1 && wide[i - 1] > width; i--) wide[i] = wide[i - 1]
            wide[i] = width
        }
        END {
            printf "| %s | %d | %.1f | %.1f | %.1f | %.0f | %.0f |\n", table, n,
                sorted[int((n + 1) / 2)], sorted[int(0.9 * n + 0.5)],
                (biased[int((n + 1) / 2)] + biased[int(n / 2) + 1]) / 2,
                100 * inside / n, wide[int((n + 1) / 2)]
        }'
}

{
    echo '| table | runs | median % | p90 % | bias % | intervals that hold % | half width % |'
    echo '|---|---|---|---|---|---|---|'
    for table in seed000_primus_turbo megatron_train_throughput; do
        steps "$table" || exit 1
    done
    steps seed001_rdep '^(ceiling|skew)/' || exit 1
} > "$folder/steps"

awk -v table="$folder/table" -v serving="$folder/serving" -v steps="$folder/steps" '
    /^<!-- errors -->$/ { print; while ((getline line < table) > 0) print line; skip = 1 }
    /^<!-- serving -->$/ { print; while ((getline line < serving) > 0) print line; skip = 1 }
    /^<!-- steps -->$/ { print; while ((getline line < steps) > 0) print line; skip = 1 }
    /^<!-- end -->$/ { skip = 0 }
    !skip { print }' "$readme" > "$folder/readme"
cmp -s "$readme" "$folder/readme" && exit 0
diff "$readme" "$folder/readme"
[ -n "$MOEPLAN_REWRITE" ] || { echo "MOEPLAN_REWRITE=1 takes the table over"; exit 1; }
cp "$folder/readme" "$readme"
