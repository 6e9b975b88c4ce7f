import type { AddCommand } from '../command.ts'

/** `trivium start`. */
export const addStart: AddCommand = (program, context) => {
  program
    .command('start')
    .description('run the daemon in the foreground; SIGTERM or Ctrl-C drains, SIGHUP reloads')
    .action(async () => {
      const { start } = await import('../start.ts')
      context.exit(await start(context.environs(), context.terminal()))
    })
}
