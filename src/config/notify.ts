import { z } from 'zod'
import { type NotifyRule, notifySchema } from '../features/notify/schema.ts'
import { noSuch, quote } from '../lib/nearest.ts'
import type { Checker } from './checker.ts'
import type { GatewayConfig, TransportSchemas } from './gateways.ts'

/** Transports that can only reply. */
const REPLY_ONLY = new Set(['webhook', 'cli', 'bullmq'])

/** Parses `notify:` rule by rule, and checks targets against the gateways. */
export function parseNotify(
  raw: unknown,
  { gateways, transports }: { gateways: readonly GatewayConfig[]; transports: TransportSchemas },
  checker: Checker,
): NotifyRule[] {
  const items = checker.parse(z.array(z.unknown()), raw ?? [], ['notify']) ?? []
  const places = new Map<string, string>()
  return items.flatMap((item, index) => {
    const path = ['notify', index]
    const rule = checker.section(notifySchema, item, path)
    if (!rule) return []
    const other = places.get(rule.id)
    if (other) checker.report(path, 'value', `duplicate rule; the same rule is in ${other}`)
    else places.set(rule.id, checker.placeOf(path))
    if ('to' in rule) checkTarget(rule.to, [...path, 'to'])
    return rule
  })

  function checkTarget(
    { gateway: name, to }: { gateway: string; to: string },
    targetPath: (string | number)[],
  ): void {
    const path = [...targetPath, 'gateway']
    const gateway = gateways.find((one) => one.name === name)
    const names = gateways.map((one) => one.name)
    if (!gateway) {
      checker.report(path, 'value', noSuch('gateway', name, names))
    } else if (REPLY_ONLY.has(gateway.transport)) {
      const what = `gateway ${quote(name)} (${gateway.transport}) can only answer messages, not notify`
      checker.report(path, 'value', `${what}; name an email, Slack or WebSocket gateway, or a url`)
    } else if (!gateway.enabled) {
      checker.report(path, 'value', `gateway ${quote(name)} is not started: ${gateway.why}`, 'warning')
    } else if (gateway.options !== undefined) {
      const fault = transports[gateway.transport]?.targetFault?.(to, name, gateway.options)
      if (fault !== undefined) checker.report([...targetPath, 'to'], 'value', fault)
    }
  }
}
