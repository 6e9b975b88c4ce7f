import { Command, CommanderError } from 'commander'
import { toTriviumError } from '../core/errors.ts'
import type { AddCommand, CommandContext } from './command.ts'
import { type Environs, ownVersion } from './environs.ts'
import { type Terminal, usageOutput } from './terminal.ts'

/**
 * Every command but those that are skills, in the order of the help; only what a command line names is loaded. A new
 * one is a file in `commands/` and a line here.
 */
const COMMANDS: Readonly<Record<string, () => Promise<AddCommand>>> = {
  start: async () => (await import('./commands/start.ts')).addStart,
  init: async () => (await import('./commands/init.ts')).addInit,
  status: async () => (await import('./commands/status.ts')).addStatus,
  doctor: async () => (await import('./commands/doctor.ts')).addDoctor,
  message: async () => (await import('./commands/message.ts')).addMessage,
  history: async () => (await import('./commands/history.ts')).addHistory,
  email: async () => (await import('./commands/email.ts')).addEmail,
  routes: async () => (await import('./commands/routes.ts')).addRoutes,
  config: async () => (await import('./commands/config.ts')).addConfig,
  reload: async () => (await import('./commands/reload.ts')).addReload,
  'dead-letters': async () => (await import('./commands/dead-letters.ts')).addDeadLetters,
  state: async () => (await import('./commands/state.ts')).addState,
  workbench: async () => (await import('./commands/workbench.ts')).addWorkbench,
  skill: async () => (await import('./commands/skill.ts')).addSkill,
  mcp: async () => (await import('./commands/mcp.ts')).addMcp,
}

/** Runs one command line and resolves with the exit code: 0 fine, 1 failed, 2 usage or configuration, 3 no daemon, 4 nothing came. */
export async function main(argv: string[]): Promise<number> {
  const program = new Command('trivium')
  let code = 0
  const options = () => program.opts<{ config?: string; json?: boolean }>()
  const context: CommandContext = {
    environs: (): Environs => {
      const { config } = options()
      const version = ownVersion()
      return {
        env: process.env,
        cwd: process.cwd(),
        version,
        ...(config === undefined ? {} : { path: config }),
      }
    },
    terminal: (): Terminal => ({
      json: argv.includes('--json'),
      isTerminal: process.stdout.isTTY === true,
      out: (text) => process.stdout.write(text),
      err: (text) => process.stderr.write(text),
    }),
    commands: () => Object.keys(COMMANDS),
    exit(given) {
      code = given
    },
  }

  program
    .description(
      'A messaging daemon: email, Slack, WebSocket and webhooks in; dispatch, receive and events out.',
    )
    .version(ownVersion())
    .option('--config <file>', 'routes.yaml to use (TRIVIUM_CONFIG)')
    .option('--json', 'print JSON, for machines')
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput(usageOutput(context.terminal()))
    .addHelpText(
      'after',
      '\nEvery skill is a command too: trivium <skill> --arg value. `trivium skill list` names them.',
    )

  try {
    const name = firstWord(argv)
    if (isSkill(name)) {
      const { invokeByName } = await import('./skill-command.ts')
      await invokeByName(name, argv, context)
    } else {
      for (const load of loadersFor(name, argv)) (await load())(program, context)
      for (const command of program.commands) inherit(command)
      await program.parseAsync(argv, { from: 'user' })
    }
    return code
  } catch (error) {
    return report(error, context.terminal())
  }
}

function isSkill(name: string | undefined): name is string {
  return name !== undefined && name !== 'help' && !Object.hasOwn(COMMANDS, name)
}

function loadersFor(name: string | undefined, argv: readonly string[]): (() => Promise<AddCommand>)[] {
  if (argv[0] === '--version' || argv[0] === '-V') return []
  const before = name === undefined ? argv : argv.slice(0, argv.indexOf(name))
  const wantsHelp =
    name === undefined || name === 'help' || before.includes('--help') || before.includes('-h')
  return Object.entries(COMMANDS).flatMap(([each, load]) => (wantsHelp || each === name ? [load] : []))
}

/** Global flags are understood after the command as well as before it. */
function inherit(command: Command): void {
  command.exitOverride().option('--json', 'print JSON, for machines')
  for (const nested of command.commands) inherit(nested)
}

function firstWord(argv: readonly string[]): string | undefined {
  const index = argv.findIndex((word, at) => !word.startsWith('-') && argv[at - 1] !== '--config')
  return argv[index]
}

function report(error: unknown, terminal: Terminal): number {
  if (error instanceof CommanderError) {
    if (error.exitCode !== 0 && terminal.json)
      terminal.err(asJson('usage', error.message.replace(/^error: /, '')))
    return error.exitCode === 0 ? 0 : 2
  }
  const { code, message, exit } = toTriviumError(error)
  terminal.err(terminal.json ? asJson(code, message) : `trivium: ${message}\n`)
  return exit
}

function asJson(code: string, message: string): string {
  return `${JSON.stringify({ error: { code, message } })}\n`
}
