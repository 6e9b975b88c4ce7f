import { gatewaySecrets } from '../config/gateway-secrets.ts'
import type { Config } from '../config/load-config.ts'
import { reasonOf } from '../core/errors.ts'
import { type Json, toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import { describeFault } from '../core/mcp.ts'
import type { Store } from '../core/store.ts'
import type { Check } from '../core/transport.ts'
import type { Gateways } from '../engine/gateways.ts'
import { noGateway } from '../engine/receive.ts'
import type { createRefusals } from '../engine/refusals.ts'
import { refusalCheck } from '../features/troubles/refusal-check.ts'
import { createLastGood } from '../features/troubles/troubles.ts'
import type { SkillManager } from '../runtime/manager.ts'
import type { McpServers } from '../runtime/mcp/servers.ts'
import { checkSkills } from './check-skills.ts'
import { checkRedisServers } from './open-store.ts'

/** The result of a check. `at`: when it ran (Unix ms), if it may not be current. */
type Finding = Check & { at?: number }

/**
 * Makes the checks of `trivium doctor`. Checks of gateways really use their provider: a mailbox
 * sends a mail to itself. They run only on request, and their results are remembered.
 */
export function createDoctor(deps: {
  config(): Config
  store: Store
  gateways: Pick<Gateways, 'check' | 'lastChecks'>
  manager: SkillManager
  mcp: Pick<McpServers, 'list' | 'try'>
  lastReload(): { ok: boolean; error?: string }
  listening(): boolean
  /** Returns the documents of the assistant and the workbench that cannot be used. */
  checkDocuments(): Promise<Check[]>
  refusals: Pick<ReturnType<typeof createRefusals>, 'counts'>
  log: Log
  now(): number
}) {
  const { config, store, gateways } = deps
  // From the configuration, because a command without a running daemon has no gateways.
  const enabled = () => config().gateways.filter((gateway) => gateway.enabled)

  const withLastGood = createLastGood(store.journal)
  /** The current refusals, which the other checks do not see. */
  const refusalsOf = async (name: string): Promise<Finding[]> => {
    const secretsOf = (gateway: string) => gatewaySecrets(config().asRead, gateway)
    const counts = deps.refusals.counts()
    const check = await refusalCheck(name, { counts, withLastGood, at: deps.now(), secretsOf })
    return check ? [check] : []
  }

  const checkGateway = async (name: string): Promise<Finding[]> => {
    const spec = enabled().find((gateway) => gateway.name === name)
    const names = enabled().map((gateway) => gateway.name)
    if (!spec) throw noGateway(name, names)
    return [...(await gateways.check(spec)), ...(await refusalsOf(name))]
  }

  const checkDaemon = async (): Promise<Check[]> => {
    const checks = [await checkStore(store)]
    const reload = deps.lastReload()
    if (!reload.ok) {
      const detail = `the last good one stays in force; ${reload.error}`
      checks.push({ name: 'configuration of the daemon', ok: false, detail })
    }
    return [...checks, ...(await checkRedisServers(config(), deps.log))]
  }

  const checkRest = async (): Promise<Check[]> => [
    ...checkSkills(deps.manager, Object.keys(config().model?.budget?.skill ?? {})),
    ...(await deps.checkDocuments()),
    ...config()
      .gateways.filter((gateway) => !gateway.enabled)
      .map(({ name, why }) => ({ name, ok: true, warning: true, detail: `off: ${why}` })),
    ...config().mcp.off.map(({ name, why }) => {
      return { name: `mcp ${name}`, ok: true, warning: true, detail: `off: ${why}` }
    }),
  ]

  /** The results of the last checks of a gateway. Runs none. */
  const lastChecksOf = async (name: string): Promise<Finding[]> => {
    const detail = 'not checked since the start of the daemon'
    const last = gateways.lastChecks(name) ?? [{ name: `${name}: check`, ok: true, detail }]
    return [...last, ...(await refusalsOf(name))]
  }

  /** All results: those of the gateways are given, the other checks run now. */
  const report = async (ofGateways: Promise<Finding[][]>): Promise<Json> => {
    const results = await Promise.all([checkDaemon(), ofGateways, checkMcp(deps), checkRest()])
    return toJson(results.flat(2))
  }

  return {
    /** Runs every check, or those of one gateway. Throws `gateway_not_found`. */
    doctor: async (gateway?: string): Promise<Json> =>
      gateway === undefined
        ? report(Promise.all(enabled().map(({ name }) => checkGateway(name))))
        : toJson(await checkGateway(gateway)),
    /** As `doctor`, but with the last results of the gateways: uses no provider. */
    diagnosis: async (): Promise<Json> =>
      report(Promise.all(enabled().map(({ name }) => lastChecksOf(name)))),
  }
}

async function checkStore(store: Store): Promise<Check> {
  const reason = await store.ping().then(() => undefined, reasonOf)
  return { name: `store (${store.kind})`, ok: reason === undefined, detail: reason ?? store.address }
}

type McpDeps = {
  mcp: Pick<McpServers, 'list' | 'try'>
  listening(): boolean
  config(): Config
}

/** The MCP servers of a running daemon. Without one, connects to each. */
async function checkMcp({ mcp, listening, config }: McpDeps): Promise<Check[]> {
  const servers = listening() ? mcp.list() : await mcp.try(config().mcp.servers)
  return servers.map(({ name, ok, detail, tools, faults = [] }) => {
    const warnings = faults.map(describeFault)
    const details = [`${detail}; ${tools} tools`, ...warnings].join('\n')
    return { name: `mcp ${name}`, ok, warning: warnings.length > 0, detail: ok ? details : detail }
  })
}
