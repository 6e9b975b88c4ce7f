import type { LastReload } from '../api/metrics/readings.ts'
import type { Previous } from '../api/shown-configuration.ts'
import type { Config } from '../config/load-config.ts'
import { reasonOf } from '../core/errors.ts'
import { toJson } from '../core/json.ts'
import type { Queues } from '../features/bullmq/queues.ts'
import { needRestart, refuseMistakes } from '../features/live/reload-checks.ts'
import type { Notify } from '../features/notify/notify.ts'
import type { createPush } from '../features/push/push.ts'
import { createTurns } from '../lib/turns.ts'
import type { SkillManager } from '../runtime/manager.ts'
import type { McpServers } from '../runtime/mcp/servers.ts'
import { recordChange, recordFailure } from './configuration-changes.ts'
import type { Foundation } from './foundation.ts'
import type { DaemonOptions } from './options.ts'
import { withOwnRoutes } from './own-routes.ts'
import type { RoadWorkers } from './road-workers.ts'
import { createSkillChanges } from './skill-changes.ts'

/** The parts that get each new configuration. */
type ConfiguredParts = {
  mcp: McpServers
  queues: Queues
  push: Pick<ReturnType<typeof createPush>, 'use' | 'warnings'>
  notify: Pick<Notify, 'use'>
  workers: Pick<RoadWorkers, 'wake' | 'useGroups'>
}

/** Loads and applies configurations, one at a time. An invalid one changes nothing. */
export function createReload(
  base: Foundation,
  parts: ConfiguredParts & {
    load: DaemonOptions['load']
    manager: Pick<SkillManager, 'known' | 'reload' | 'list' | 'get' | 'errors'>
  },
) {
  const { config, gateways, startedAt, now, log } = base
  const { load, manager, mcp } = parts
  let last: LastReload = { ok: true, at: startedAt, goodAt: startedAt }
  let previous: Previous | undefined
  const inTurn = createTurns()
  const apply = createApply(base, parts)

  const warnings = () => [
    // Warnings about routes that skills define have no line.
    ...config().warnings.map(({ file, line, message }) => {
      if (line === undefined) return `${file}: ${message}`
      return config().included.length > 0 ? `${file}:${line}: ${message}` : message
    }),
    ...parts.push.warnings(),
    ...mcp.unknownServers(manager.list().flatMap(({ name }) => manager.get(name) ?? [])),
  ]
  const loadAndApply = async () => {
    const at = now()
    try {
      const next = await load(manager.known())
      refuseMistakes(config(), next)
      const before = config()
      const { asRead } = before
      await apply(next)
      if (asRead.yaml !== next.asRead.yaml)
        previous = { ...asRead, at: previous?.until ?? startedAt, until: at }
      // Without waiting: the store may be unreachable.
      void recordChange(before, next, base.audit.record)
      last = { ok: true, at, goodAt: at }
    } catch (error) {
      last = { ok: false, at, goodAt: last.goodAt, error: reasonOf(error) }
      void recordFailure(config(), error, { record: base.audit.record, clean: base.clean })
      throw error
    }
    const counts = { routes: config().routes.length, gateways: gateways.names().length }
    log.info(counts, 'the configuration is reloaded')
    return toJson({ ok: true, warnings: warnings() })
  }
  const reread = () => inTurn(loadAndApply)

  return {
    /** Loads the configuration at the start, when the skills are known. */
    first: () => inTurn(async () => apply(await load(manager.known()))),
    /** Reloads the configuration. Throws `config_invalid` and keeps the last good one. */
    reread,
    /** Like `reread`, after reloading the skills. */
    async reload() {
      await manager.reload()
      return reread()
    },
    /** Records that files of skills were changed, after they were reloaded. */
    skillsChanged: createSkillChanges(base, manager.errors),
    /** The result of the last reload. */
    last: () => last,
    /** The configuration before the last change; undefined without a change since the start. */
    previous: () => previous,
    warnings,
  }
}

/** Applies a configuration part by part. */
function createApply(base: Foundation, parts: ConfiguredParts) {
  const { config, useConfig, access, router, gateways, mode, log } = base
  const { mcp, queues, push, notify, workers } = parts
  return async (next: Config) => {
    const afterRestart = needRestart(config(), next, queues.names())
    if (afterRestart.length > 0)
      log.warn({ settings: afterRestart }, 'these changes take effect at the next start only')
    useConfig(next)
    access.use(next)
    await mcp.use(next.mcp.servers, { connect: mode === 'serve' })
    await queues.use(next.routes.flatMap(({ queue }) => queue ?? []))
    router.use(withOwnRoutes(next))
    // Before the gateways, so that new groups and subscriptions get their messages.
    if (mode === 'serve') await workers.useGroups(next.topics)
    await push.use(next.subscriptions)
    await notify.use(next.notify)
    // A single command runs only the command-line gateway: it must not read a mailbox.
    const runsHere = (transport: string) => mode === 'serve' || transport === 'cli'
    await gateways.apply(next.gateways.filter(({ enabled, transport }) => enabled && runsHere(transport)))
    workers.wake()
  }
}
