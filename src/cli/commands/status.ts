import { pathGet } from '../../core/json.ts'
import type { AddCommand } from '../command.ts'
import { ask } from '../connection.ts'
import { humanStatus } from '../status/screen.ts'

/** `trivium status`. */
export const addStatus: AddCommand = (program, context) => {
  program
    .command('status')
    .description('overview of gateways, skills and the backlog of the three roads')
    .action(() =>
      ask(
        context,
        async (daemon) => {
          const status = { running: daemon.running, ...Object(await daemon.status()) }
          const isStoreOut = pathGet(status, 'store.ok') === false
          // `away`: the shards that cannot be reached.
          if (isStoreOut || pathGet(status, 'stats.away') !== undefined) context.exit(1)
          return status
        },
        (status) => humanStatus(status, context.terminal().isTerminal),
      ),
    )
}
