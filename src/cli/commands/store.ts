import type { DaemonConfig } from '../../config/sections.ts'
import { TriviumError } from '../../core/errors.ts'
import { silent } from '../../core/log.ts'
import { pauseStore } from '../../features/store-pause/record.ts'
import { counted } from '../../lib/counted.ts'
import { type AddCommand, loadFor, wholeNumber } from '../command.ts'
import { show } from '../terminal.ts'

/** `trivium store grow` and `trivium store pause`. */
export const addStore: AddCommand = (program, context) => {
  const store = program.command('store').description('change the store while no daemon runs')
  addGrow(store, context)
  addPause(store, context)
}

const addPause: AddCommand = (store, context) => {
  store
    .command('pause')
    .description('daemons that start from now on only accept messages, until `trivium daemon resume`')
    .action(async () => {
      const { daemon } = await loadFor(context.environs(), { withoutVariables: 'except-store' })
      const { openStore } = await import('../../daemon/open-store.ts')
      const running = await runningOn(daemon)
      const opened = await openStore(daemon, { log: silent })
      try {
        await pauseStore(opened.kv, Date.now())
      } finally {
        await opened.close()
      }
      show(context.terminal(), { ok: true, running }, () => pausedText(running))
    })
}

/** The number of daemons on the store: the embedded one is locked by its daemon. */
async function runningOn({ redisUrl: url, redisPrefix: prefix, redis }: DaemonConfig): Promise<number> {
  if (url === undefined) return 0
  const { countUsersAt } = await import('../../stores/redis/users.ts')
  return countUsersAt({ url, prefix, ...redis, log: silent })
}

function pausedText(running: number): string {
  const text = 'Everything is paused until `trivium daemon resume`.'
  if (running === 0) return text
  const still =
    running === 1 ? '1 daemon is running, and ignores' : `${running} daemons are running, and ignore`
  return `${text}\nWarning: ${still} the pause until a restart. Restart all daemons of this store now.`
}

const addGrow: AddCommand = (store, context) => {
  store
    .command('grow')
    .argument('<count>', 'the new number of shards', wholeNumber('<count>'))
    .description('add shards to a Redis store; stop all daemons first')
    .option(
      '--force',
      'even if messages and jobs are waiting: later messages of their conversations may overtake them',
    )
    .action(async (shards: number, { force = false }: { force?: boolean }) => {
      const {
        redisUrl: url,
        redisPrefix: prefix,
        redis,
      } = (await loadFor(context.environs(), { withoutVariables: 'except-store' })).daemon
      if (url === undefined) {
        const reason = 'the embedded store has one; set REDIS_URL'
        throw new TriviumError('store_shards', { store: 'the store', found: 1, reason })
      }
      const { growStore } = await import('../../stores/redis/grow.ts')
      const { progress } = context.terminal()
      const onProgress = (part: number) => progress(`keys: ${Math.round(part * 100)} %`)
      const result = await growStore({ url, prefix, ...redis, shards, force, log: silent }, onProgress)
      progress('')
      const { before, now } = result
      show(
        context.terminal(),
        result,
        () =>
          `${counted(before, 'shard')} before, ${now} now; set \`redis: { shards: ${now} }\` if routes.yaml names a number`,
      )
    })
}
