import { constants, copyFile } from 'node:fs/promises'
import { configPath } from '../../config/load-config.ts'
import { pathGet } from '../../core/json.ts'
import { type AddCommand, usage } from '../command.ts'
import { ask, connect } from '../connection.ts'
import { ownFile } from '../environs.ts'
import { pretty, show } from '../terminal.ts'

/** `trivium init`. */
export const addInit: AddCommand = (program, context) => {
  program
    .command('init')
    .description('put a commented routes.yaml into this folder; never overwrites one')
    .action(async () => {
      const { cwd, env, path } = context.environs()
      const target = configPath(cwd, env, path)
      try {
        await copyFile(ownFile('routes.yaml'), target, constants.COPYFILE_EXCL)
      } catch (cause) {
        const exists = pathGet(cause, 'code') === 'EEXIST'
        const why = exists ? 'is there already; it was left alone.' : `cannot be written: ${cause}`
        throw usage(`${target} ${why}`, cause)
      }
      const next = '  trivium routes check      is it right?\n  trivium start             run it'
      show(context.terminal(), { path: target }, () => `Made ${target}.\n\n${next}`)
    })
}

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
    .description('make the running daemon read routes.yaml and the skills again; a bad file changes nothing')
    .action(() => ask(context, (daemon) => daemon.reload(), pretty, connect))
}

/** `trivium mcp`. */
export const addMcp: AddCommand = (program, context) => {
  program
    .command('mcp')
    .description(
      'serve the skills of the running daemon over MCP on stdin and stdout, for assistants and editors',
    )
    .action(async () => {
      const { serveMcp } = await import('../mcp.ts')
      await serveMcp(context.environs())
    })
}
