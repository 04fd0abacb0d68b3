/* Scripts of shells: each hands the words up to the cursor to `hcube complete` and shows what that prints. */
#include "app/usage/usage.h"

#include <stdio.h>
#include <string.h>

/* Bash cuts words at = and : too, so the line is cut here, and what bash has already is taken off again.
 * Whole names of files go to the shell, which quotes them. */
static const char bash_script[] =
    "# Completion of hcube for bash: source <(hcube completion bash)\n"
    "_hcube() {\n"
    "    local line word candidates=() patterns=() pattern current words\n"
    "    line=${COMP_LINE:0:COMP_POINT}\n"
    "    current=${line##*[[:space:]]}\n"
    "    COMPREPLY=()\n"
    "    # A word in quotes is left to the shell; of earlier ones xargs takes the quotes away.\n"
    "    [[ $current != *[\\\\\\\"\\']* && $line != *\\\\[[:space:]]\"$current\" ]] || return 0\n"
    "    line=${line%\"$current\"}\n"
    "    if [[ $line == *[\\\\\\\"\\']* ]]; then\n"
    "        line=$(xargs printf '%s\\n' <<<\"$line\" 2>/dev/null) || return 0\n"
    "        mapfile -t words <<<\"$line\"\n"
    "    else\n"
    "        read -ra words <<<\"$line\"\n"
    "    fi\n"
    "    words+=(\"$current\")\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        :files*) read -ra patterns <<<\"${line#:files}\" ;;\n"
    "        :*) ;;\n"
    "        *) candidates+=(\"${line%%$'\\t'*}\") ;;\n"
    "        esac\n"
    "    done < <(set -f; \"${words[0]/#\\~\\//$HOME/}\" complete \"${words[@]:1}\" 2>/dev/null)\n"
    "    local cut=$current\n"
    "    [[ $current == -*=* ]] && cut=${current#*=}\n"
    "    if ((${#patterns[@]})); then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        while IFS= read -r word; do\n"
    "            # Hidden files only where a dot was typed.\n"
    "            [[ ${word##*/} != .* || ${cut##*/} == .* ]] || continue\n"
    "            if [[ -d ${word/#\\~\\//$HOME/} ]]; then\n"
    "                candidates+=(\"$word\")\n"
    "                continue\n"
    "            fi\n"
    "            for pattern in \"${patterns[@]}\"; do\n"
    "                [[ $word != $pattern ]] || { candidates+=(\"$word\") && break; }\n"
    "            done\n"
    "        done < <(compgen -f -- \"$cut\")\n"
    "    fi\n"
    "    # What stands before the last = or : is there already.\n"
    "    local kept=${current%\"${current##*[=:]}\"}\n"
    "    [[ $current == -*=* ]] && kept=${cut%\"${cut##*:}\"}\n"
    "    for word in \"${candidates[@]}\"; do\n"
    "        COMPREPLY+=(\"${word#\"$kept\"}\")\n"
    "    done\n"
    "    ((${#patterns[@]})) || [[ ${COMPREPLY[0]:-} != *= ]] || compopt -o nospace 2>/dev/null\n"
    "}\n"
    "complete -o bashdefault -o default -F _hcube hcube\n";

static const char zsh_script[] =
    "#compdef hcube\n"
    "# Completion of hcube for zsh: in a folder of $fpath as _hcube, or source <(hcube completion zsh)\n"
    "_hcube() {\n"
    "    local line pattern\n"
    "    local -a candidates patterns\n"
    "    for line in \"${(@f)$(\"${words[1]}\" complete \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
    "        case $line in\n"
    "        :files*) patterns=(${=line#:files}) ;;\n"
    "        :*) ;;\n"
    "        *) candidates+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\") ;;\n"
    "        esac\n"
    "    done\n"
    "    [[ $PREFIX != -*=* ]] || compset -P '*='\n"
    "    ((${#candidates})) && _describe -V hcube candidates\n"
    "    ((${#patterns})) && _files -g \"${(j: :)patterns}\"\n"
    "}\n"
    "if [[ $funcstack[1] == _hcube ]]; then\n"
    "    _hcube \"$@\"\n"
    "else\n"
    "    compdef _hcube hcube\n"
    "fi\n";

static const char fish_script[] =
    "# Completion of hcube for fish: hcube completion fish | source\n"
    "function __hcube_complete\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    set -l option (string match -r '^--[^=]*=' -- (commandline -ct))\n"
    "    for line in ($words[1] complete $words[2..-1] 2>/dev/null)\n"
    "        switch $line\n"
    "            case ':files*'\n"
    "                set -l patterns (string split -n ' ' -- (string replace ':files' '' -- $line))\n"
    "                set -l begun (string replace -r '^--[^=]*=' '' -- (commandline -ct))\n"
    "                for file in (complete -C\"'' $begun\" | string replace -r '\\t.*' '')\n"
    "                    for pattern in $patterns '*/'\n"
    "                        if string match -q -- $pattern $file\n"
    "                            echo \"$option\"$file\n"
    "                            break\n"
    "                        end\n"
    "                    end\n"
    "                end\n"
    "            case ':*'\n"
    "            case '*'\n"
    "                echo \"$option\"$line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c hcube -f -a '(__hcube_complete)'\n";

static const char *const shells[][2] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

void hc_describe_completion(HcUsage *usage) {
    hc_text_add(&usage->about,
                "An installed hcube has these scripts where the shells look for them. Elsewhere, put a line "
                "into the file that the shell reads when it starts.\n");
    hc_text_add(&usage->examples, "source <(hcube completion bash)\nsource <(hcube completion zsh)\n"
                                  "hcube completion fish | source\n");
}

HcStatus hc_command_completion(int32_t word_count, const char *const *words, HcError *err) {
    if (word_count != 1) {
        return hc_fail(err, HC_E_USAGE, "completion: which shell? (hcube completion bash, zsh or fish)");
    }
    for (size_t s = 0; s < sizeof shells / sizeof *shells; s++) {
        if (strcmp(shells[s][0], words[0]) == 0) {
            fputs(shells[s][1], stdout);
            return HC_OK;
        }
    }
    return hc_fail(err, HC_E_USAGE, "completion: %s: must be bash, zsh or fish", words[0]);
}
