# Completion of syncopate for bash. The command itself provides the words: --help=words prints a line
# for each word, with what it takes and what it does, separated by tabs.
_syncopate() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local -a path=()
    local word words
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ $word == -* ]] && break
        path+=("$word")
    done
    words=$("${COMP_WORDS[0]}" "${path[@]}" --help=words 2>/dev/null) || return 0
    if [[ $previous == --* ]]; then
        local choices
        choices=$(awk -F '\t' -v flag="$previous" '$1 == flag {print $2}' <<<"$words")
        if [[ -n $choices ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
            return 0
        fi
    fi
    mapfile -t COMPREPLY < <(compgen -W "$(cut -f 1 <<<"$words")" -- "$current")
}
complete -o default -F _syncopate syncopate
