import { z } from 'zod'
import { RESERVED_PREFIXES } from '../core/identity.ts'
import { isJsonObject } from '../core/json.ts'
import type { Skill } from '../core/skill.ts'
import type { TransportKind } from '../core/transport.ts'
import { defined } from '../lib/defined.ts'
import { noSuch, quote } from '../lib/nearest.ts'
import type { Checker } from './checker.ts'
import { withoutFormerKeys } from './former-keys.ts'

/** The option schemas of the available transports. */
export type TransportSchemas = Readonly<
  Record<string, Pick<TransportKind, 'options' | 'former' | 'targetFault'>>
>

/** The parts of a skill used to check routes and gateways. A broken skill has only a name. */
export type RoutedSkill = Pick<Skill, 'name' | 'metadata'> &
  Partial<Pick<Skill, 'args'>> & {
    /** `built-in` for the operations of Trivium. */
    kind?: string
    /** Part of Trivium: an unknown argument is an error, not only a warning. */
    isShipped?: boolean
  }

/** One gateway of routes.yaml. */
export type GatewayConfig = {
  name: string
  transport: string
  enabled: boolean
  /** Why a disabled gateway is disabled. */
  why?: string
  /** The path at which a disabled gateway would listen. */
  offPath?: string
  /** Whether skills may send to other targets than the sender of a message. */
  open: boolean
  /** Maximum deliveries of a message under a lease by `gateway-receive`; absent: unlimited. */
  maxDeliveries?: number
  /** Options parsed by the transport's schema; undefined if not enabled. */
  options: unknown
}

/** Keys common to all gateways. A variable in `enabled` arrives as a string. */
export const gatewayCommon = z.object({
  transport: z.string(),
  enabled: z
    .union([z.boolean(), z.enum(['auto', 'true', 'false'])], { error: 'expected true, false or auto' })
    .default(true)
    .describe('auto: enabled only if every variable in its options is set.'),
  open: z
    .boolean()
    .default(false)
    .describe('Whether skills may send to targets other than the sender of the message.'),
  receive: z
    .strictObject({
      'max-deliveries': z
        .int()
        .min(1)
        .max(1_000)
        .exactOptional()
        .describe('Deliveries under a lease before a message becomes a dead letter; unlimited by default.'),
    })
    .exactOptional()
    .describe('Options of the receive road.'),
})

const COMMON = Object.keys(gatewayCommon.shape)
export const GATEWAY_NAME = /^\w[\w.-]{0,63}$/
/**
 * Name and transport of the command-line gateway, which exists implicitly unless the name is taken.
 */
const COMMAND_LINE = 'cli'

/** Parses `gateways:`, each by its transport's schema. */
export function parseGateways(raw: unknown, transports: TransportSchemas, checker: Checker): GatewayConfig[] {
  const entries = isJsonObject(raw) ? Object.entries(raw) : []
  if (raw !== undefined && raw !== null && !isJsonObject(raw)) {
    checker.report(['gateways'], 'value', 'expected a mapping: the name of each gateway, then its settings')
  }
  const gateways = entries.flatMap(([name, one]) => parseGateway(name, one, transports, checker) ?? [])
  reportSharedPaths(gateways, checker)
  const kind = transports[COMMAND_LINE]
  if (!kind || gateways.some(({ name }) => name === COMMAND_LINE)) return gateways
  const builtIn = { name: COMMAND_LINE, transport: COMMAND_LINE, enabled: true, open: false }
  return [...gateways, { ...builtIn, options: kind.options.parse({}) }]
}

function parseGateway(name: string, raw: unknown, transports: TransportSchemas, checker: Checker) {
  const path = ['gateways', name]
  if (!GATEWAY_NAME.test(name)) {
    const message = `bad name ${quote(name)}: a gateway's name has letters, digits, and _ . - inside`
    checker.report(path, 'key', message)
  }
  if (RESERVED_PREFIXES.includes(name)) {
    const message = `a gateway cannot be named ${quote(name)}: identities such as ${quote(`${name}:ada`)} have another meaning`
    checker.report(path, 'key', message)
  }
  if (!isJsonObject(raw)) {
    checker.report(path, 'value', 'expected a mapping with at least `transport`')
    return undefined
  }
  const common = checker.parse(gatewayCommon, raw, path)
  if (!common) {
    checker.reportMissing(path)
    return undefined
  }
  const { transport, open } = common
  const maxDeliveries = common.receive?.['max-deliveries']
  const kind = Object.hasOwn(transports, transport) ? transports[transport] : undefined
  if (!kind) {
    const place = [...path, 'transport']
    checker.reportMissing(place)
    if (checker.missing(place).length > 0) return undefined
    const message = noSuch('transport', transport, Object.keys(transports))
    checker.report(place, 'value', message)
    return undefined
  }
  const missing = new Set(checker.missing(path).map((variable) => variable.name))
  const isComplete = missing.size === 0 || checker.areVariablesOptional
  const enabled = common.enabled === 'auto' ? isComplete : String(common.enabled) === 'true'
  if (enabled) checker.reportMissing(path)
  const own = Object.fromEntries(Object.entries(raw).filter(([key]) => !COMMON.includes(key)))
  const ownOptions = withoutFormerKeys(own, kind.former ?? {}, path, checker)
  const options = checker.parse(kind.options, ownOptions, path, COMMON)
  if (enabled) return { name, transport, enabled, open, options, ...defined({ maxDeliveries }) }
  const unset = `${[...missing].join(', ')} ${missing.size === 1 ? 'is' : 'are'} not set`
  const why = common.enabled === 'auto' ? `${unset} (enabled: auto)` : 'enabled: false'
  const offPath = typeof own.path === 'string' ? own.path : undefined
  return { name, transport, enabled, why, open, options: undefined, ...defined({ offPath }) }
}

/** Reports gateways that listen on the path of an earlier one. */
function reportSharedPaths(gateways: readonly GatewayConfig[], checker: Checker): void {
  /** The first gateway of each path. */
  const taken = new Map<string, string>()
  for (const { name, options } of gateways) {
    if (!isJsonObject(options) || typeof options.path !== 'string') continue
    const other = taken.get(options.path)
    if (other === undefined) {
      taken.set(options.path, name)
      continue
    }
    const place = checker.placeOf(['gateways', other])
    const message = `gateway ${quote(other)} (${place}) already listens on ${quote(options.path)}`
    checker.report(['gateways', name, 'path'], 'value', message)
  }
}
