# What the pieces of scripts/audit share: their options, their results, resuming, totals. A piece is
#
#   #!/usr/bin/env bash
#   # One line that says what it does, for the list of pieces.
#   #
#   # More for `scripts/audit PIECE --help`, with its options.
#   set -euo pipefail
#   cd "$(dirname "${BASH_SOURCE[0]}")/../.."
#   source tests/audit/lib.sh
#   audit_begin faults "$@"         # takes --resume and --limit; the other words are in "${audit_words[@]}"
#   for item in ...; do
#       audit_todo "$item" || continue
#       ...
#       audit_record "$item" pass 120 faults
#   done
#   audit_end
#
# A result is one line of build/audit/PIECE/results, fields separated by tabs:
#   DATE COMMIT ITEM pass|fail COUNT UNIT WHY
# COUNT and UNIT are what the totals add up (1200 faults). Of an item only its last line counts.

# A short commit; + follows where tracked files differ from it. HCUBE_AUDIT_COMMIT says it where there is no repository.
audit_commit() {
    local commit
    if [[ ${HCUBE_AUDIT_COMMIT:-} ]]; then
        echo "$HCUBE_AUDIT_COMMIT"
        return
    fi
    commit=$(git rev-parse --short=10 HEAD 2>/dev/null || echo unknown)
    [[ $commit == unknown ]] || git diff --quiet HEAD -- || commit+=+
    echo "$commit"
}

# audit_begin PIECE WORD...: sets audit_folder (made), audit_results, audit_commit, audit_words.
audit_begin() {
    audit_piece=$1
    shift
    audit_folder=$PWD/build/audit/$audit_piece
    audit_results=$audit_folder/results
    audit_commit=$(audit_commit)
    audit_words=()
    audit_limit=500
    audit_resume=0
    audit_left=0
    audit_seen=0
    while (($#)); do
        case $1 in
        --resume) audit_resume=1 ;;
        --limit)
            audit_limit=${2:?"--limit needs a number of seconds"}
            shift
            ;;
        *) audit_words+=("$1") ;;
        esac
        shift
    done
    mkdir -p "$audit_folder"
    ((audit_resume)) || [[ ! -e $audit_results ]] || mv "$audit_results" "$audit_results.before"
    touch "$audit_results"
}

# audit_without OPTION...: audit_plain is audit_words without these options and their values. For pieces whose items are
# chosen by options: what runs one item gets the others, and names the item itself.
audit_without() {
    audit_plain=()
    local i
    for ((i = 0; i < ${#audit_words[@]}; i++)); do
        if [[ " $* " == *" ${audit_words[i]} "* ]]; then
            i=$((i + 1))
        else
            audit_plain+=("${audit_words[i]}")
        fi
    done
}

# Seconds that are left for this call.
audit_seconds_left() {
    echo $((audit_limit > SECONDS ? audit_limit - SECONDS : 0))
}

# Whether this item must run now: it has not passed at this commit, and there is time left.
audit_todo() {
    ! audit_passed "$1" || return 1
    (($(audit_seconds_left) > 0)) || {
        audit_left=$((audit_left + 1))
        return 1
    }
}

# Whether the last result of this item is a pass at this commit.
audit_passed() {
    audit_seen=1
    [[ $(awk -F '\t' -v item="$1" -v commit="$audit_commit" \
        '$3 == item { last = $2 == commit ? $4 : "" } END { print last }' "$audit_results") == pass ]]
}

# audit_record ITEM pass|fail COUNT UNIT [WHY]: one result. A failure is printed as well.
audit_record() {
    audit_seen=1
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$(date -u +%FT%TZ)" "$audit_commit" "$1" "$2" "$3" "$4" \
        "$(tr '\t\n' '  ' <<<"${5:-}")" >>"$audit_results"
    [[ $2 == pass ]] || printf '%s: %s failed%s\n' "$audit_piece" "$1" "${5:+: $5}" >&2
}

# audit_totals PIECE: a line for each commit in its results.
audit_totals() {
    local results=$PWD/build/audit/$1/results
    [[ -s $results ]] || {
        printf '%-8s no results\n' "$1"
        return 0
    }
    awk -F '\t' -v piece="$1" '
        { last[$2 "\t" $3] = $0; if (!($2 in seen)) { seen[$2] = 1; commits[++n] = $2 } }
        END {
            for (key in last) {
                split(last[key], field, "\t")
                commit = field[2]
                field[4] == "pass" ? passed[commit]++ : failed[commit]++
                if (field[6] != "") { count[commit, field[6]] += field[5]; units[field[6]] = 1 }
                if (field[1] > date[commit]) date[commit] = field[1]
            }
            for (i = 1; i <= n; i++) {
                text = ""
                for (unit in units)
                    if ((commits[i], unit) in count) text = text sprintf(", %.0f %s", count[commits[i], unit], unit)
                commit = commits[i]
                printf "%-8s %-11s %s  %d passed, %d failed%s\n", piece, commit, date[commit], passed[commit], failed[commit], text
            }
        }' "$results"
}

# Ends with exit code 2 where the options select no item: earlier results stay.
audit_nothing() {
    ((audit_resume)) || [[ ! -e $audit_results.before ]] || mv "$audit_results.before" "$audit_results"
    echo "audit: $audit_piece: nothing matches${audit_words[*]:+ ${audit_words[*]}}" >&2
    exit 2
}

# Prints the totals of this piece and ends: 1 where an item failed at this commit, 2 where no item was selected, 3 where some
# have not run, else 0.
audit_end() {
    ((audit_seen || audit_left)) || audit_nothing
    audit_totals "$audit_piece"
    local failed
    failed=$(awk -F '\t' -v commit="$audit_commit" '$2 == commit { last[$3] = $4 }
        END { for (item in last) n += last[item] != "pass"; print n + 0 }' "$audit_results")
    ((failed == 0)) || exit 1
    ((audit_left == 0)) || {
        echo "$audit_piece: $audit_left items have not run yet; go on with scripts/audit $audit_piece --resume"
        exit 3
    }
    exit 0
}
