import type { Config } from '../config/load-config.ts'
import { reasonOf } from '../core/errors.ts'
import { type Json, toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Store } from '../core/store.ts'
import type { Check } from '../core/transport.ts'
import type { Gateways } from '../engine/gateways.ts'
import { noGateway } from '../engine/receive.ts'
import type { SkillManager } from '../runtime/manager.ts'
import type { McpServers } from '../runtime/mcp/servers.ts'
import { checkSkills } from './check-skills.ts'
import { checkRedisServers } from './open-store.ts'

/** A check, and when it ran (Unix ms) where that is not now. */
type Finding = Check & { at?: number }

/** What could be wrong. Checks of gateways try what they check: a mailbox sends a mail to itself. They run when asked for. */
export function createDoctor(deps: {
  config(): Config
  store: Store
  gateways: Pick<Gateways, 'check'>
  manager: SkillManager
  mcp: Pick<McpServers, 'list' | 'try'>
  lastReload(): { ok: boolean; error?: string }
  listening(): boolean
  /** The documents of the assistant and the workbench that cannot be used. */
  checkDocuments(): Promise<Check[]>
  log: Log
  now(): number
}) {
  const { config, store, gateways } = deps
  const found = new Map<string, Finding[]>()
  // Also those that run in the daemon that is not there yet.
  const enabled = () => config().gateways.filter((gateway) => gateway.enabled)

  const checkGateway = async (name: string): Promise<Finding[]> => {
    const spec = enabled().find((gateway) => gateway.name === name)
    const names = enabled().map((gateway) => gateway.name)
    if (!spec) throw noGateway(name, names)
    const at = deps.now()
    const checks = (await gateways.check(spec)).map((check) => ({ ...check, at }))
    found.set(name, checks)
    return checks
  }

  const checkDaemon = async (): Promise<Check[]> => {
    const first = [await checkStore(store)]
    const reload = deps.lastReload()
    if (!reload.ok) {
      const detail = `the last good one stays in force; ${reload.error}`
      first.push({ name: 'configuration of the daemon', ok: false, detail })
    }
    return [...first, ...(await checkRedisServers(config(), deps.log))]
  }

  const checkRest = async (): Promise<Check[]> => [
    ...checkSkills(deps.manager),
    ...(await deps.checkDocuments()),
    ...config()
      .gateways.filter((gateway) => !gateway.enabled)
      .map(({ name, why }) => ({ name, ok: true, warning: true, detail: `off: ${why}` })),
    ...config().mcp.off.map(({ name, why }) => {
      return { name: `mcp ${name}`, ok: true, warning: true, detail: `off: ${why}` }
    }),
  ]

  /** What the last checks of a gateway found; they are not run again. */
  const known = (name: string): Finding[] =>
    found.get(name) ?? [
      { name: `${name}: check`, ok: true, detail: 'not checked since the start of the daemon' },
    ]

  const together = async (ofGateways: Finding[][] | Promise<Finding[][]>): Promise<Json> => {
    const [first, ...rest] = await Promise.all([checkDaemon(), ofGateways, checkMcp(deps), checkRest()])
    return toJson([...first, ...rest.flat(2)])
  }

  return {
    /** Runs every check, or those of one gateway. Throws `gateway_not_found`. */
    doctor: async (gateway?: string): Promise<Json> =>
      gateway === undefined
        ? together(Promise.all(enabled().map(({ name }) => checkGateway(name))))
        : toJson(await checkGateway(gateway)),
    /** What is known without trying anything at a provider. */
    diagnosis: async (): Promise<Json> => together(enabled().map(({ name }) => known(name))),
  }
}

async function checkStore(store: Store): Promise<Check> {
  const reason = await store.ping().then(() => undefined, reasonOf)
  return { name: `store (${store.kind})`, ok: reason === undefined, detail: reason ?? store.address }
}

/** Those that a running daemon has, or that can be reached from here. */
async function checkMcp({
  mcp,
  listening,
  config,
}: {
  mcp: Pick<McpServers, 'list' | 'try'>
  listening(): boolean
  config(): Config
}): Promise<Check[]> {
  const servers = listening() ? mcp.list() : await mcp.try(config().mcp.servers)
  return servers.map(({ name, ok, detail, tools, faults = [] }) => {
    const odd = faults.map(({ tool, reason, skipped }) => {
      return `${skipped ? 'left out' : 'odd'}: ${JSON.stringify(tool)}, ${reason}`
    })
    const shown = [`${detail}; ${tools} tools`, ...odd].join('\n')
    return { name: `mcp ${name}`, ok, warning: odd.length > 0, detail: ok ? shown : detail }
  })
}
