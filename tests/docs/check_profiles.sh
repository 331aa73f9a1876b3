#!/bin/sh
# The error tables of models/profiles/README.md are what `moeplan calibrate` gives today for the
# tables of kernels that the shipped profiles were fitted to, `moeplan validate` for served
# deployments and steps, and what was left out of fits that take minutes
# (tests/data/widths.csv); so are the errors that profiles of kernels state. MOEPLAN_REWRITE=1
# takes them over.
cd "${1:?usage: check_profiles.sh ROOT}" || exit 1
readme=models/profiles/README.md
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# one line a family: the median and 90th percentile of each split, and what share an interval
# holds of configurations that neither its fit nor its width has seen
rows() {
    awk -F, -v table="$1" '
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
        }' "$folder/$1.csv"
}

tables='moe_kernels_hopper deepgemm_kernels ep_dispatch_combine collectives'
for table in $tables; do
    "$MOEPLAN" calibrate "$table" --format csv > "$folder/$table.csv" || exit 1
    cat "$folder/$table.csv" >> "$folder/calibrated"
done

{
    printf '| table | family | values | fitted | half out | configuration out | held '
    echo '| model out | device out | 70 % roofline |'
    echo '|---|---|---|---|---|---|---|---|---|---|'
    for table in $tables; do
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
# served deployments that no fit has seen, by what was left out of it
{
    printf '| profile | left out | a token | held | half width | first token | held '
    echo '| half width |'
    echo '|---|---|---|---|---|---|---|---|'
    awk -F, '
        function cell(key) {
            return sprintf("%.1f / %.1f | %s | %.0f %%", median[key], p90[key],
                held[key] == "" ? "" : sprintf("%.0f %%", 100 * held[key]), 100 * width[key])
        }
        $2 == "tpot" || $2 == "ttft" {
            key = $1 SUBSEP $3 SUBSEP $2
            median[key] = $6; p90[key] = $7; width[key] = $8; held[key] = $9
        }
        END {
            k = split("vllm-serve sglang-serve trtllm-serve-hopper " \
                "trtllm-serve-blackwell", name, " ")
            split("layout device model", cut, " ")
            for (i = 1; i <= k; i++)
                for (j = 1; j <= 3; j++)
                    if ((name[i], cut[j], "tpot") in median)
                        printf "| %s | %s | %s | %s |\n", name[i], cut[j],
                            cell(name[i] SUBSEP cut[j] SUBSEP "tpot"),
                            cell(name[i] SUBSEP cut[j] SUBSEP "ttft")
        }' tests/data/widths.csv
} > "$folder/left"

# whole steps that no fit has seen
{
    echo '| profile | left out | values | of | median | p90 | half width |'
    echo '|---|---|---|---|---|---|---|'
    awk -F, '
        $2 == "step" {
            what = $3 == "keys" ? "values of keys" : $3 "s"
            printf "| %s | one of its %s | %d | %d | %.1f | %.1f | %.3g %% |\n", $1, what, $4,
                $5, $6, $7, 100 * $8
        }' tests/data/widths.csv
} > "$folder/whole"

# of every profile and kind of time: the share that lies within an interval which has not seen
# it, what so many that err on their own hold by chance, nine times of ten, where 90 % is true
# (binomial), and the median of half its width
by_chance='
    function by_chance(n, k, log_p, sum, low) {
        log_p = n * log(0.1)
        low = -1
        for (k = 0; k <= n; k++) {
            sum += exp(log_p)
            if (low < 0 && sum > 0.05) low = k
            if (sum >= 0.95) break
            log_p += log((n - k) / (k + 1) * 9)
        }
        return sprintf("%.0f to %.0f %%", 100 * low / n, 100 * k / n)
    }'
{
    echo '| profile | time of | values | left out at a time | held | by chance | half width |'
    echo '|---|---|---|---|---|---|---|'
    awk -F, "$by_chance"'
        BEGIN {
            kind["step"] = "a step"; kind["tpot"] = "a token"; kind["ttft"] = "a first token"
        }
        $3 == "layout" && $9 != "" {
            printf "| %s | %s | %d | one of %d layouts | %.0f %% | %s | %.3g %% |\n", $1,
                $1 ~ /rdep/ ? "one layer" : kind[$2], $4, $5, 100 * $9, by_chance($5), 100 * $8
        }' tests/data/widths.csv
    awk -F, "$by_chance"'
        $2 == "configuration" && $1 != "all" && $11 != "" {
            profile = $1
            sub("/.*", "", profile)
            if (!(profile in n)) order[++k] = profile
            n[profile] += $3
            held[profile] += $3 * $10
            # families by width, for the median over values
            for (i = ++families[profile]; i > 1 && wide[profile, i - 1] > $11 + 0; i--) {
                wide[profile, i] = wide[profile, i - 1]
                many[profile, i] = many[profile, i - 1]
            }
            wide[profile, i] = $11 + 0
            many[profile, i] = $3
        }
        END {
            for (i = 1; i <= k; i++) {
                p = order[i]
                at = 0
                for (f = 1; (at += many[p, f]) < n[p] / 2; f++);
                printf "| %s | %s | %d | a fifth of its configurations | ",
                    p, p ~ /nccl/ ? "collectives" : p ~ /deepep/ ? "dispatch and combine" : \
                    p ~ /deepgemm/ ? "products" : "experts", n[p]
                printf "%.0f %% | %s | %.3g %% |\n", held[p] / n[p], by_chance(n[p]), wide[p, f]
            }
        }' "$folder/calibrated"
} > "$folder/widths"

# what profiles of kernels and collectives state is what calibrate gives
for profile in models/profiles/*.yaml; do
    awk -F, -v file="$profile" '
        function part(pattern, skip) {
            return match($0, pattern) ? "/" substr($0, RSTART + skip, RLENGTH - skip) : ""
        }
        FNR == NR {
            if ($2 == "configuration" && $11 != "") error[$1] = sprintf("%.3g", $11 / 100)
            next
        }
        /is: error/ && !/of: (step|request)/ {
            key = file
            sub(".*/", "", key)
            sub("[.]yaml", "", key)
            key = key part("of: (all|reduce)_[a-z_]*", 4) part("path: [a-z_]*", 6) \
                part("dtype: [a-z0-9_]*", 7)
            e = key in error ? error[key] : "unknown"
            sub("value: .*", "value: " e ", interval: [" e ", " e "]}")
        }
        { print }' "$folder/calibrated" "$profile" > "$folder/profile"
    cmp -s "$profile" "$folder/profile" && continue
    diff "$profile" "$folder/profile"
    [ -n "$MOEPLAN_REWRITE" ] || { echo "MOEPLAN_REWRITE=1 takes the errors over"; exit 1; }
    cp "$folder/profile" "$profile"
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

awk -v table="$folder/table" -v serving="$folder/serving" -v steps="$folder/steps" \
    -v left="$folder/left" -v widths="$folder/widths" -v whole="$folder/whole" '
    /^<!-- errors -->$/ { print; while ((getline line < table) > 0) print line; skip = 1 }
    /^<!-- serving -->$/ { print; while ((getline line < serving) > 0) print line; skip = 1 }
    /^<!-- steps -->$/ { print; while ((getline line < steps) > 0) print line; skip = 1 }
    /^<!-- left out -->$/ { print; while ((getline line < left) > 0) print line; skip = 1 }
    /^<!-- widths -->$/ { print; while ((getline line < widths) > 0) print line; skip = 1 }
    /^<!-- whole -->$/ { print; while ((getline line < whole) > 0) print line; skip = 1 }
    /^<!-- end -->$/ { skip = 0 }
    !skip { print }' "$readme" > "$folder/readme"
cmp -s "$readme" "$folder/readme" && exit 0
diff "$readme" "$folder/readme"
[ -n "$MOEPLAN_REWRITE" ] || { echo "MOEPLAN_REWRITE=1 takes the table over"; exit 1; }
cp "$folder/readme" "$readme"
