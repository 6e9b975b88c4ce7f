import { Command, CommanderError } from 'commander'
import { toTriviumError } from '../core/errors.ts'
import type { AddCommand, CommandContext } from './command.ts'
import { addConfig } from './commands/config.ts'
import { addDeadLetters } from './commands/dead-letters.ts'
import { addDoctor } from './commands/doctor.ts'
import { addHistory } from './commands/history.ts'
import { addInit } from './commands/init.ts'
import { addMcp } from './commands/mcp.ts'
import { addMessage } from './commands/message.ts'
import { addReload } from './commands/reload.ts'
import { addRoutes } from './commands/routes.ts'
import { addSkill } from './commands/skill.ts'
import { addStart } from './commands/start.ts'
import { addState } from './commands/state.ts'
import { addStatus } from './commands/status.ts'
import { addWorkbench } from './commands/workbench.ts'
import { type Environs, ownVersion } from './environs.ts'
import { invokeByName } from './skill-command.ts'
import { type Terminal, usageOutput } from './terminal.ts'

/** Every command but those that are skills. A new one is a file in `commands/` and a line here. */
const COMMANDS: readonly AddCommand[] = [
  addStart,
  addInit,
  addStatus,
  addDoctor,
  addMessage,
  addHistory,
  addRoutes,
  addConfig,
  addReload,
  addDeadLetters,
  addState,
  addWorkbench,
  addSkill,
  addMcp,
]

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
    commands: () => program.commands.map((command) => command.name()),
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
  for (const add of COMMANDS) add(program, context)
  for (const command of program.commands) inherit(command)

  try {
    const known = new Set(program.commands.flatMap((command) => [command.name(), ...command.aliases()]))
    const name = firstWord(argv)
    if (name !== undefined && !known.has(name) && name !== 'help') await invokeByName(name, argv, context)
    else await program.parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    return report(error, context.terminal())
  }
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
