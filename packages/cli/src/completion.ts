import type { Command } from 'commander'

export type Shell = 'bash' | 'zsh' | 'fish'

interface Completed {
  readonly name: string
  readonly summary: string
  readonly options: readonly string[]
}

/** A script for a shell, made of the program's own commands and options. */
export function completionOf(program: Command, shell: Shell): string {
  const commands = program.commands.map((command) => ({
    name: command.name(),
    summary: command.summary(),
    options: optionsOf(command),
  }))
  const common = [...optionsOf(program), '--help']
  return { bash, zsh, fish }[shell](commands, common)
}

function optionsOf(command: Command): string[] {
  return command.options.flatMap(({ short, long }) => [short, long]).filter((each) => each !== undefined)
}

function bash(commands: readonly Completed[], common: readonly string[]): string {
  const cases = commands.map(
    ({ name, options }) => `    ${name}) words="${[...options, ...common].join(' ')}" ;;`,
  )
  return `_holdfast() {
  local current=\${COMP_WORDS[COMP_CWORD]} command= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      --) compopt -o default; COMPREPLY=(); return ;;
      ${commands.map(({ name }) => name).join('|')}) command=\${COMP_WORDS[i]}; break ;;
    esac
  done
  case $command in
    completion) words="bash zsh fish" ;;
${cases.filter((each) => !each.startsWith('    completion)')).join('\n')}
    *) words="${[...commands.map(({ name }) => name), ...common].join(' ')}" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _holdfast holdfast
`
}

function zsh(commands: readonly Completed[], common: readonly string[]): string {
  const described = commands.map(({ name, summary }) => `    '${name}:${summary.replaceAll("'", '')}'`)
  const cases = commands.map(
    ({ name, options }) =>
      `    ${name}) compadd -- ${name === 'completion' ? 'bash zsh fish' : [...options, ...common].join(' ')} ;;`,
  )
  return `#compdef holdfast
_holdfast() {
  local -a commands
  local command= word
  commands=(
${described.join('\n')}
  )
  for word in \${words[2,CURRENT-1]}; do
    if [[ $word == -- ]]; then _normal; return; fi
    if [[ -z $command && " ${commands.map(({ name }) => name).join(' ')} " == *" $word "* ]]; then command=$word; fi
  done
  case $command in
    '') _describe command commands; compadd -- ${common.join(' ')} ;;
${cases.join('\n')}
  esac
}
compdef _holdfast holdfast
`
}

function fish(commands: readonly Completed[], common: readonly string[]): string {
  const names = commands.map(({ name }) => name).join(' ')
  const seen = (name: string): string => `"__fish_seen_subcommand_from ${name}"`
  const flag = (option: string): string =>
    option.startsWith('--') ? `-l ${option.slice(2)}` : `-s ${option.slice(1)}`
  return [
    ...commands.map(
      ({ name, summary }) =>
        `complete -c holdfast -f -n "not __fish_seen_subcommand_from ${names}" -a ${name} -d '${summary.replaceAll("'", '')}'`,
    ),
    ...common.map((option) => `complete -c holdfast ${flag(option)}`),
    ...commands.flatMap(({ name, options }) =>
      options.map((option) => `complete -c holdfast -n ${seen(name)} ${flag(option)}`),
    ),
    `complete -c holdfast -f -n ${seen('completion')} -a 'bash zsh fish'`,
    '',
  ].join('\n')
}
