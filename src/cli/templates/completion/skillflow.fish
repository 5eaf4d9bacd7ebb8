# skillflow: completion for fish. Load it in ~/.config/fish/config.fish: skillflow completion fish | source
function __skillflow_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    command skillflow completion --words (count $words) -- $words "$current" 2>/dev/null
end
complete -c skillflow -f -a '(__skillflow_complete)'
