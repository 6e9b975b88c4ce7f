import { type Json, pathGet } from '../../core/json.ts'
import type { AddCommand } from '../command.ts'
import { ask, connect } from '../connection.ts'
import { continueWithoutOutput } from '../output-errors.ts'

export const addStart: AddCommand = (program, context) => {
  program
    .command('start')
    .description('run the daemon in the foreground; SIGTERM or Ctrl-C drains, SIGHUP reloads')
    .action(async () => {
      continueWithoutOutput()
      const { start } = await import('../start.ts')
      // Exit even if something is still open, such as a watcher that was being set up at the
      // signal.
      process.exit(await start(context.environs(), context.terminal()))
    })
}

export const addReload: AddCommand = (program, context) => {
  program
    .command('reload')
    .description('reload routes.yaml and the skills of the running daemon; an invalid file changes nothing')
    .action(() => ask(context, (daemon) => daemon.reload(), reloaded, connect))
}

function reloaded(answer: Json): string {
  const warnings = pathGet(answer, 'warnings')
  const lines = Array.isArray(warnings) ? warnings.map((warning) => `warning: ${warning}`) : []
  return ['Reloaded.', ...lines].join('\n')
}
