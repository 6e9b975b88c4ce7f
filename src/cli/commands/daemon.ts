import { type Json, pathGet } from '../../core/json.ts'
import type { AddCommand } from '../command.ts'
import { ask, connect } from '../connection.ts'

/** `trivium start`. */
export const addStart: AddCommand = (program, context) => {
  program
    .command('start')
    .description('run the daemon in the foreground; SIGTERM or Ctrl-C drains, SIGHUP reloads')
    .action(async () => {
      const { start } = await import('../start.ts')
      // After the drain nothing may keep the process: not a watcher that was being set up when the signal came.
      process.exit(await start(context.environs(), context.terminal()))
    })
}

/** `trivium reload`. */
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
