import { z } from 'zod'
import type { TransportKind } from '../core/transport.ts'
import type { Checker } from './checker.ts'
import { missingOf } from './interpolate.ts'
import { hint, quote } from './problem.ts'
import { hasKeys, knownKeys } from './schema-walk.ts'
import type { RoutedSkill } from './skill-routes.ts'
import { isRecord, kebab, type Path } from './yaml-tree.ts'

/** The transports that exist, by kind. Only their option schemas are looked at. */
export type TransportSchemas = Readonly<Record<string, Pick<TransportKind, 'options'>>>

/** One gateway of routes.yaml. */
export type GatewayConfig = {
  name: string
  transport: string
  /** Whether it is to be started. */
  enabled: boolean
  /** For a gateway that is not: why, for people. */
  why?: string
  /** Whether skills may send to other targets than the one that wrote. */
  open: boolean
  /** What the transport's own schema made of its keys; undefined where it is not enabled. */
  options: unknown
}

/** The keys that every gateway takes. */
export const gatewayCommon = z.object({
  transport: z.string(),
  enabled: z.union([z.boolean(), z.literal('auto')], { error: 'expected true, false or auto' }).default(true),
  open: z.boolean().default(false),
})

const COMMON = Object.keys(gatewayCommon.shape)
const NAME = /^\w[\w.-]{0,63}$/

/** Parses the section `gateways:`, each gateway by its transport's schema. */
export function parseGateways(raw: unknown, transports: TransportSchemas, check: Checker): GatewayConfig[] {
  if (raw === undefined || raw === null) return builtIn([], transports)
  if (!isRecord(raw)) {
    check.report(['gateways'], 'value', 'expected a mapping: the name of each gateway, then its settings')
    return []
  }
  const gateways = Object.entries(raw).flatMap(
    ([name, one]) => parseGateway(name, one, transports, check) ?? [],
  )
  reportSharedPaths(gateways, check)
  return [...gateways, ...builtIn(gateways, transports)]
}

/** Reports skills that gateways name in `answers` and that do not exist, or cannot answer at once. */
export function checkAnswers(
  gateways: readonly GatewayConfig[],
  skills: readonly RoutedSkill[] | undefined,
  check: Checker,
): void {
  if (!skills) return
  for (const { name, options } of gateways) {
    const answers = isRecord(options) && isRecord(options.answers) ? options.answers : {}
    for (const [asked, wanted] of Object.entries(answers)) {
      const message = typeof wanted === 'string' && whyNoAnswer(wanted, skills)
      if (message) check.report(['gateways', name, 'answers', asked], 'value', message)
    }
  }
}

function whyNoAnswer(wanted: string, skills: readonly RoutedSkill[]): string | undefined {
  const skill = skills.find((each) => each.name === wanted)
  if (!skill) {
    const names = skills.map((each) => each.name)
    return `there is no skill ${quote(wanted)}${hint(wanted, names)}`
  }
  return skill.metadata?.approval
    ? `skill ${quote(wanted)} waits for an approval, and whoever is answered here waits for seconds only`
    : undefined
}

/** The gateway of the command line, which is there without being named, unless the name is taken. */
const COMMAND_LINE = 'cli'

function builtIn(gateways: readonly GatewayConfig[], transports: TransportSchemas): GatewayConfig[] {
  const kind = transports[COMMAND_LINE]
  if (!kind || gateways.some(({ name }) => name === COMMAND_LINE)) return []
  const options = kind.options.parse({})
  return [{ name: COMMAND_LINE, transport: COMMAND_LINE, enabled: true, open: false, options }]
}

function parseGateway(
  name: string,
  raw: unknown,
  transports: TransportSchemas,
  check: Checker,
): GatewayConfig | undefined {
  const path = ['gateways', name]
  if (!NAME.test(name)) {
    check.report(
      path,
      'key',
      `bad name ${quote(name)}: a gateway's name has letters, digits, and _ . - inside`,
    )
  }
  const { value, variables } = check.fill(raw, path)
  if (!isRecord(value)) {
    check.report(path, 'value', 'expected a mapping with at least `transport`')
    return undefined
  }
  const { transport, enabled, open } = common(value)
  const head = check.parse(gatewayCommon, { transport, enabled: asFlag(enabled), open }, path, { variables })
  if (!head) return undefined
  const schema = schemaOf(head.transport, transports, path, check)
  if (!schema) return undefined

  const missing = missingOf(variables)
  const isEnabled = head.enabled === 'auto' ? missing.length === 0 : head.enabled
  if (isEnabled) check.reportMissing(variables)
  const options = check.parse(schema, ownOptions(value, schema, path, check), path, {
    raw,
    variables,
    unset: missing.map((variable) => variable.path),
  })
  const why = isEnabled
    ? undefined
    : whyNot(
        head.enabled,
        missing.map((variable) => variable.name),
      )
  return {
    name,
    transport: head.transport,
    enabled: isEnabled,
    ...(why === undefined ? {} : { why }),
    open: head.open,
    options: isEnabled ? options : undefined,
  }
}

function common(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(COMMON.flatMap((key) => (Object.hasOwn(value, key) ? [[key, value[key]]] : [])))
}

/** `enabled: "${X:-auto}"` comes as text. */
function asFlag(enabled: unknown): unknown {
  return enabled === 'true' || enabled === 'false' ? enabled === 'true' : enabled
}

function schemaOf(
  kind: string,
  transports: TransportSchemas,
  path: Path,
  check: Checker,
): z.ZodType | undefined {
  const found = Object.hasOwn(transports, kind) ? transports[kind] : undefined
  if (found) return found.options
  check.report(
    [...path, 'transport'],
    'value',
    `unknown transport ${quote(kind)}${hint(kind, Object.keys(transports))}`,
  )
  return undefined
}

/** The transport's own keys. One that it does not know is reported here, so that no schema can forget to. */
function ownOptions(
  value: Record<string, unknown>,
  schema: z.ZodType,
  path: Path,
  check: Checker,
): Record<string, unknown> {
  const known = new Map(knownKeys(schema, []).map((key) => [kebab(key), key]))
  const strict = hasKeys(schema)
  const entries = Object.entries(value).filter(([key]) => {
    if (known.has(kebab(key))) return true
    if (COMMON.includes(key)) return false
    if (strict)
      check.report(
        [...path, key],
        'key',
        `unknown key ${quote(key)}${hint(key, [...known.values(), ...COMMON])}`,
      )
    return !strict
  })
  return Object.fromEntries(entries)
}

function whyNot(mode: boolean | 'auto', missing: readonly string[]): string {
  if (mode === false) return 'enabled: false'
  const names = [...new Set(missing)]
  return `enabled: auto, and ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} not set`
}

function reportSharedPaths(gateways: readonly GatewayConfig[], check: Checker): void {
  const taken = new Map<string, string>()
  for (const { name, options } of gateways) {
    if (!isRecord(options) || typeof options.path !== 'string') continue
    const other = taken.get(options.path)
    if (other === undefined) taken.set(options.path, name)
    else {
      const line = check.lineOf(['gateways', other])
      const message = `gateway ${quote(other)} (line ${line}) already listens on ${quote(options.path)}`
      check.report(['gateways', name, 'path'], 'value', message)
    }
  }
}
