import { z } from 'zod'
import { LOG_TOPIC, MESSAGE_TOPIC, REPLY_TOPICS } from '../core/event.ts'
import { type PushSubscription, pushSchema } from '../core/push.ts'
import { nearest, quote } from '../lib/nearest.ts'
import type { Checker } from './checker.ts'
import { checkGateways, type RouteWorld } from './routes.ts'

/** Parses the section `subscriptions:` and checks each by itself, and against its neighbours and the gateways. */
export function parseSubscriptions(raw: unknown, world: RouteWorld, checker: Checker): PushSubscription[] {
  const items = checker.parse(z.array(z.unknown()), raw ?? [], ['subscriptions']) ?? []
  const names = new Set<string>()
  return items.flatMap((item, at) => {
    const path = ['subscriptions', at]
    const subscription = checker.section(pushSchema, item, path)
    if (!subscription) return []
    const { name, topic, match = {} } = subscription
    const report = (key: string, message: string, severity?: 'warning') =>
      checker.report([...path, key], 'value', message, severity)
    if (names.has(name)) report('name', `there are two subscriptions ${quote(name)}`)
    names.add(name)
    if (topic === LOG_TOPIC || topic.startsWith(REPLY_TOPICS)) report('topic', 'it is kept by Trivium itself')
    if (topic === MESSAGE_TOPIC) checkGateways(match, path, world, checker)
    else if (nearest(topic, [MESSAGE_TOPIC])) {
      report('topic', `only event-emit writes to it; did you mean "${MESSAGE_TOPIC}"?`, 'warning')
    }
    return subscription
  })
}
