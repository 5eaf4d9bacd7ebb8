# skillflow: completion for bash. Load it in ~/.bashrc: source <(skillflow completion bash)
_skillflow() {
  local rest=${COMP_LINE:0:COMP_POINT} bare word i lead
  local -a words=() found=()
  # Bash takes --writes=plan and replay:FILE apart; what no blank stands before goes on with the word.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    bare=${rest#"${rest%%[![:space:]]*}"}
    word=${COMP_WORDS[i]}
    ((i == COMP_CWORD)) && word=$bare
    if ((i > 0)) && [[ $bare == "$rest" ]]; then
      words[${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
    rest=${bare#"$word"}
  done
  mapfile -t found < <(command skillflow completion --words $((${#words[@]} - 1)) -- "${words[@]}" 2>/dev/null)
  word=${words[${#words[@]}-1]}
  lead=
  [[ $word == *[=:]* && $COMP_WORDBREAKS == *:* ]] && lead=${word%"${word##*[=:]}"}
  COMPREPLY=()
  for word in "${found[@]}"; do
    word=${word%%$'\t'*}
    [[ $word == *[/:=.] ]] && compopt -o nospace
    printf -v word %q "${word#"$lead"}"
    COMPREPLY+=("$word")
  done
}
complete -o default -F _skillflow skillflow
