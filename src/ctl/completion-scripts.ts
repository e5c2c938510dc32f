// The scripts of `redlockctl completion`, one for each shell. They pass the words typed so far as
// arguments, which are never evaluated, and know no option and no verb. bash breaks words at every
// colon, so its script cuts off the part before the last colon.

const bash = `# Completion of redlock-run and redlockctl for bash. Put this into ~/.bashrc:
#   source <(redlockctl completion bash)
_redlock_complete() {
  local line=\${COMP_LINE:0:COMP_POINT} current reply colons
  local -a typed
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  current=\${typed[\${#typed[@]}-1]}
  colons=\${current%"\${current##*:}"}
  COMPREPLY=()
  while IFS=$'\\t' read -r reply _; do
    case $reply in
      $'\\x01commands')
        while IFS= read -r reply; do COMPREPLY+=("$reply"); done < <(compgen -c -- "$current")
        return ;;
      $'\\x01files')
        compopt -o default 2>/dev/null ||
          while IFS= read -r reply; do COMPREPLY+=("$reply"); done < <(compgen -f -- "$current")
        return ;;
    esac
    printf -v reply %q "\${reply#"$colons"}"
    COMPREPLY+=("$reply")
  done < <(redlockctl completion words -- "\${typed[@]}" 2>/dev/null)
}
complete -F _redlock_complete redlock-run redlockctl
`;

const zsh = `#compdef redlock-run redlockctl
# Completion of redlock-run and redlockctl for zsh. Put this into a folder of $fpath, as
# _redlockctl, or into ~/.zshrc:
#   source <(redlockctl completion zsh)
_redlock_complete() {
  local line
  local -a described
  while IFS= read -r line; do
    case $line in
      $'\\x01commands') _command_names -e; return ;;
      $'\\x01files') _files; return ;;
    esac
    line=\${line//:/\\\\:}
    described+=("\${line/$'\\t'/:}")
  done < <(redlockctl completion words -- "\${(@)words[1,CURRENT]}" 2>/dev/null)
  (( \${#described} )) && _describe 'word' described
}
if [[ \${funcstack[1]} == _redlockctl ]]; then
  _redlock_complete
else
  compdef _redlock_complete redlock-run redlockctl
fi
`;

const fish = `# Completion of redlock-run and redlockctl for fish. Run once:
#   redlockctl completion fish > ~/.config/fish/completions/redlockctl.fish
#   ln -s redlockctl.fish ~/.config/fish/completions/redlock-run.fish
function __redlock_complete
    set -l typed (commandline -opc) (commandline -ct)
    set -l found (redlockctl completion words -- $typed 2>/dev/null)
    switch "$found"
        case \\x01commands
            complete -C (commandline -ct | string escape)
        case \\x01files
            __fish_complete_path (commandline -ct)
        case '*'
            printf '%s\\n' $found
    end
end
complete -c redlockctl -f -a '(__redlock_complete)'
complete -c redlock-run -f -a '(__redlock_complete)'
`;

/** By the name of the shell. */
export const scripts: Readonly<Record<string, string>> = { bash, zsh, fish };
