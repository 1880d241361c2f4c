# Completion of syncopate for fish. The command itself provides the words: --help=words prints a line
# for each word, with what it takes and what it does, separated by tabs.
function __syncopate_words
    set -l path
    for word in (commandline -opc)[2..]
        string match -q -- '-*' $word; and break
        set -a path $word
    end
    set -l previous (commandline -opc)[-1]
    syncopate $path --help=words 2>/dev/null | while read -l -d \t word choices help
        if test "$word" = "$previous" -a -n "$choices"
            string split ' ' -- $choices
            return
        end
        printf '%s\t%s\n' $word $help
    end
end
complete -c syncopate -a '(__syncopate_words)'
