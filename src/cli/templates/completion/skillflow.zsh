#compdef skillflow
# skillflow: completion for zsh. Load it in ~/.zshrc, after compinit: source <(skillflow completion zsh)
_skillflow() {
  local line value
  local -a found whole open told begun
  found=("${(@f)$(command skillflow completion --words $((CURRENT - 1)) -- "${(@)words[1,CURRENT]}" 2>/dev/null)}")
  for line in "${found[@]}"; do
    value=${line%%$'\t'*}
    [[ -z $value ]] && continue
    if [[ $value == *[/:=.] ]]; then
      open+=("$value")
      begun+=("${line//$'\t'/  }")
    else
      whole+=("$value")
      told+=("${line//$'\t'/  }")
    fi
  done
  ((${#whole} + ${#open})) || { _files; return; }
  ((${#whole})) && compadd -l -d told -a whole
  ((${#open})) && compadd -S '' -l -d begun -a open
}
(( $+functions[compdef] )) && compdef _skillflow skillflow
