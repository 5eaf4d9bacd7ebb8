/**
 * Completion scripts. Each asks the program for candidates, one per line, and quotes them itself. Nothing that the
 * program prints is evaluated. The scripts always call the program in PATH.
 */

export const SHELLS = ["bash", "zsh", "fish"] as const;

const BASH = `# skillflow: completion for bash. Load it in ~/.bashrc: source <(skillflow completion bash)
_skillflow() {
  local rest=\${COMP_LINE:0:COMP_POINT} bare word i lead
  local -a words=() found=()
  # Bash takes --writes=plan and replay:FILE apart; what no blank stands before goes on with the word.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    bare=\${rest#"\${rest%%[![:space:]]*}"}
    word=\${COMP_WORDS[i]}
    ((i == COMP_CWORD)) && word=$bare
    if ((i > 0)) && [[ $bare == "$rest" ]]; then
      words[\${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
    rest=\${bare#"$word"}
  done
  mapfile -t found < <(command skillflow completion --words $((\${#words[@]} - 1)) -- "\${words[@]}" 2>/dev/null)
  word=\${words[\${#words[@]}-1]}
  lead=
  [[ $word == *[=:]* && $COMP_WORDBREAKS == *:* ]] && lead=\${word%"\${word##*[=:]}"}
  COMPREPLY=()
  for word in "\${found[@]}"; do
    word=\${word%%$'\\t'*}
    [[ $word == *[/:=.] ]] && compopt -o nospace
    printf -v word %q "\${word#"$lead"}"
    COMPREPLY+=("$word")
  done
}
complete -o default -F _skillflow skillflow
`;

const ZSH = `#compdef skillflow
# skillflow: completion for zsh. Load it in ~/.zshrc, after compinit: source <(skillflow completion zsh)
_skillflow() {
  local line value
  local -a found whole open told begun
  found=("\${(@f)$(command skillflow completion --words $((CURRENT - 1)) -- "\${(@)words[1,CURRENT]}" 2>/dev/null)}")
  for line in "\${found[@]}"; do
    value=\${line%%$'\\t'*}
    [[ -z $value ]] && continue
    if [[ $value == *[/:=.] ]]; then
      open+=("$value")
      begun+=("\${line//$'\\t'/  }")
    else
      whole+=("$value")
      told+=("\${line//$'\\t'/  }")
    fi
  done
  ((\${#whole} + \${#open})) || { _files; return; }
  ((\${#whole})) && compadd -l -d told -a whole
  ((\${#open})) && compadd -S '' -l -d begun -a open
}
(( $+functions[compdef] )) && compdef _skillflow skillflow
`;

const FISH = `# skillflow: completion for fish. Load it in ~/.config/fish/config.fish: skillflow completion fish | source
function __skillflow_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    command skillflow completion --words (count $words) -- $words "$current" 2>/dev/null
end
complete -c skillflow -f -a '(__skillflow_complete)'
`;

export const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = { bash: BASH, zsh: ZSH, fish: FISH };
