import { z } from 'zod'
import { noSuch, quote } from '../lib/nearest.ts'
import type { Checker } from './checker.ts'
import type { GatewayConfig, TransportSchemas } from './gateways.ts'
import { type NotifyRule, notifySchema } from './schema/notify.ts'

/** Transports that can only reply. */
const ANSWERS_ONLY = new Set(['webhook', 'cli', 'bullmq'])

/** Parses `notify:` rule by rule, and checks targets against the gateways. */
export function parseNotify(
  raw: unknown,
  { gateways, transports }: { gateways: readonly GatewayConfig[]; transports: TransportSchemas },
  checker: Checker,
): NotifyRule[] {
  const items = checker.parse(z.array(z.unknown()), raw ?? [], ['notify']) ?? []
  const places = new Map<string, string>()
  return items.flatMap((item, at) => {
    const path = ['notify', at]
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
    place: (string | number)[],
  ): void {
    const path = [...place, 'gateway']
    const gateway = gateways.find((one) => one.name === name)
    const names = gateways.map((one) => one.name)
    if (!gateway) {
      checker.report(path, 'value', noSuch('gateway', name, names))
    } else if (ANSWERS_ONLY.has(gateway.transport)) {
      const message = `gateway ${quote(name)} (${gateway.transport}) can only answer messages, not notify; name an email, Slack or WebSocket gateway, or a url`
      checker.report(path, 'value', message)
    } else if (!gateway.enabled) {
      checker.report(path, 'value', `gateway ${quote(name)} is not started: ${gateway.why}`, 'warning')
    } else if (gateway.options !== undefined) {
      const fault = transports[gateway.transport]?.targetFault?.(to, name, gateway.options)
      if (fault !== undefined) checker.report([...place, 'to'], 'value', fault)
    }
  }
}
