import { spokenName } from '../../src/cli/grammar.ts'
import { COMMAND_NAMES, main } from '../../src/cli/program.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'
import { COMMANDS_BY_TASK } from './commands-by-task.ts'
import { code, page, table } from './markdown.ts'

const INTRODUCTION = `Every command, as \`trivium <command> --help\` prints it. [Run commands](../command-line.md#on-a-server) shows how to reach
a daemon on a server.

These options work with every command and are left out below: \`--config <file>\` (\`TRIVIUM_CONFIG\`),
\`--data-dir <folder>\` (\`TRIVIUM_DATA_DIR\`), \`--json\`, which prints JSON for programs, \`--no-pager\`, and \`--help\`. Commands that only
show something also take \`--watch [seconds]\`. Commands of skills take \`--args <json>\`, all arguments as one JSON object, which is left out too.

Exit codes: 0 success, 1 failed, 2 usage or configuration error, 3 no daemon is running, 4 a command waited until its
timeout without a result. \`trouble list\` exits with 1 if it lists an error, \`doctor\` if a check fails, and \`status\` if the store
refuses messages; \`status\` exits with 0 if no daemon runs.`

const SKILLS = `Every skill is a command. Your own skills are commands in the same way. Some do the same as a command above, which has
the better output for people: \`message list\` searches as \`message search\` does, and \`route replay\` is \`message replay\`.`

/** docs/reference/commands.md: the help of each command, and of each built-in skill. */
export async function commandsPage(): Promise<string> {
  const commands = new Map<string, string>()
  for (const name of COMMAND_NAMES) await addHelp(name, commands)
  const skills = new Map<string, string>()
  // A running daemon adds `troubles`, so it is not among the built-in skills.
  for (const name of ['troubles', ...builtInSkills.map((skill) => skill.name)])
    await addHelp(spokenName(name), skills)
  for (const name of commands.keys()) skills.delete(name)
  return page('Commands', INTRODUCTION, [
    '## By task',
    taskTable(new Set([...commands.keys(), ...skills.keys()])),
    '## Commands',
    ...sectionsOf(commands),
    '## Skills as commands',
    SKILLS,
    ...sectionsOf(skills),
  ])
}

function taskTable(documented: ReadonlySet<string>): string {
  const link = (name: string) => {
    if (!documented.has(name)) throw new Error(`there is no command ${name}`)
    return `[${code(name)}](#${name.replaceAll(' ', '-')})`
  }
  const rows = Object.entries(COMMANDS_BY_TASK).map(([task, names]) => [task, names.map(link).join(', ')])
  return table(['You want to', 'Commands'], rows)
}

function sectionsOf(helps: ReadonlyMap<string, string>): string[] {
  return [...helps].flatMap(([name, help]) => [`### ${code(name)}`, `\`\`\`text\n${help}\n\`\`\``])
}

/** Adds the help of a command, and of its subcommands. */
async function addHelp(name: string, to: Map<string, string>): Promise<void> {
  const help = await helpOf(name)
  to.set(name, withoutExplainedOptions(help))
  const subcommands = /^Commands:\n((?:.+\n?)*)/m.exec(help)?.[1] ?? ''
  for (const [, verb = ''] of subcommands.matchAll(/^ {2}([\w-]+(?: [\w-]+)*)/gm))
    if (verb !== 'help') await addHelp(`${name} ${verb}`, to)
}

/** The help lines of the options that the introduction explains. */
const EXPLAINED_OPTIONS =
  /^ {2}(?:--config <file>|--data-dir <folder>|--json|--no-pager|--watch \[seconds\]|--args <json>|-h, --help) .*\n(?: {12,}\S.*\n)*/gm

function withoutExplainedOptions(help: string): string {
  return `${help}\n`
    .replaceAll(EXPLAINED_OPTIONS, '')
    .replace(/\nOptions:\n(?=\n|$)/, '')
    .replace(/\n {2}help \[command\] .*\n/, '\n')
    .trimEnd()
}

async function helpOf(name: string): Promise<string> {
  let text = ''
  const out = (piece: string) => {
    text += piece
  }
  const exit = await main([...name.split(' '), '--help'], {
    env: { PATH: process.env.PATH },
    cwd: process.cwd(),
    out,
    err: out,
  })
  if (exit !== 0) throw new Error(`trivium ${name} --help exited with ${exit}: ${text}`)
  return text.trimEnd()
}
