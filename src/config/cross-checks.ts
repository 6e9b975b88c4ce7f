// Checks of references between sections of the file.
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { AUDIT_TOPIC } from '../core/audit.ts'
import type { ProgramToken } from '../core/call.ts'
import { reasonOf } from '../core/errors.ts'
import { LOG_TOPIC, MESSAGE_TOPIC, REPLY_TOPICS } from '../core/event.ts'
import { compileMember, partsOf } from '../core/identity.ts'
import { isJsonObject } from '../core/json.ts'
import type { RouteMatch } from '../core/match.ts'
import { mcpServerOf } from '../core/mcp.ts'
import { nearest, noSuch, quote } from '../lib/nearest.ts'
import type { Checker } from './checker.ts'
import { checkGateways, type RouteWorld } from './routes.ts'
import { type PushSubscription, pushSchema } from './schema/push.ts'
import type { sections } from './sections.ts'
import { createNames } from './unique-names.ts'

/** Reports skills in `answers` of gateways that do not exist or cannot answer immediately. */
export function checkAnswers({ gateways, skills }: RouteWorld, checker: Checker): void {
  if (!skills) return
  const skillNames = skills.map(({ name }) => name)
  for (const { name, options } of gateways) {
    const answers = isJsonObject(options) && isJsonObject(options.answers) ? options.answers : {}
    for (const [asked, wanted] of Object.entries(answers)) {
      const skill = skills.find((each) => each.name === wanted)
      const waits = `skill ${quote(String(wanted))} waits for an approval, but callers here wait only for seconds`
      const wrong = skill ? skill.metadata?.approval && waits : noSuch('skill', String(wanted), skillNames)
      if (wrong) checker.report(['gateways', name, 'answers', asked], 'value', wrong)
    }
  }
}

/** Parses `subscriptions:`, and checks each entry, also against other entries and the gateways. */
export function parseSubscriptions(raw: unknown, world: RouteWorld, checker: Checker): PushSubscription[] {
  const items = checker.parse(z.array(z.unknown()), raw ?? [], ['subscriptions']) ?? []
  const noteName = createNames('subscriptions', checker)
  return items.flatMap((item, at) => {
    const path = ['subscriptions', at]
    const subscription = checker.section(pushSchema, item, path)
    if (!subscription) return []
    const { name, topic, match = {} } = subscription
    const report = (key: string, message: string, severity?: 'warning') =>
      checker.report([...path, key], 'value', message, severity)
    noteName(name, path)
    if (topic === LOG_TOPIC || topic === AUDIT_TOPIC || topic.startsWith(REPLY_TOPICS))
      report('topic', 'it is reserved for Trivium')
    if (topic === MESSAGE_TOPIC) checkGateways(match, path, world, checker)
    else if (nearest(topic, [MESSAGE_TOPIC])) {
      report('topic', `only event-emit writes to it; did you mean "${MESSAGE_TOPIC}"?`, 'warning')
    }
    return withPaths(subscription, dirname(checker.fileOf(path)))
  })
}

/** Paths of `tls` are relative to the file that contains them. */
function withPaths(subscription: PushSubscription, folder: string): PushSubscription {
  const entries = Object.entries(subscription.tls ?? {}).map(([name, value]) => {
    return [name, value.startsWith('-----BEGIN ') ? value : resolve(folder, value)]
  })
  return subscription.tls ? { ...subscription, tls: Object.fromEntries(entries) } : subscription
}

/** Checks `tokens:` against the gateways, and against the skills if they are known. */
export function checkTokens(
  tokens: readonly ProgramToken[],
  control: string | undefined,
  { gateways, servers, skills }: RouteWorld,
  checker: Checker,
): void {
  const gatewayNames = gateways.map(({ name }) => name)
  const skillNames = skills?.map(({ name }) => name) ?? []
  const noteName = createNames('tokens', checker)
  for (const [at, { name, token, ...rights }] of tokens.entries()) {
    const report = (key: string, message: string, ...index: number[]) =>
      checker.report(['tokens', at, key, ...index], 'value', message)
    const others = tokens.slice(0, at)
    noteName(name, ['tokens', at])
    const known = [control, ...others.map((other) => other.token)]
    if (known.includes(token)) report('token', 'another entry has the same token; each must be unique')
    for (const [index, gateway] of rights.gateways.entries()) {
      if (gateway === '*' || gatewayNames.includes(gateway)) continue
      report('gateways', noSuch('gateway', gateway, gatewayNames), index)
    }
    for (const [index, skill] of rights.skills.entries()) {
      if (!skills || skillNames.includes(skill) || /[*?[{/]/.test(skill)) continue
      if (servers.includes(mcpServerOf(skill) ?? '')) continue
      report('skills', noSuch('skill', skill, skillNames), index)
    }
  }
}

/** Reports queues without a Redis. */
export function checkQueues(
  where: { redis?: string; prefix: string },
  { gateways }: RouteWorld,
  checker: Checker,
): void {
  const { routes } = Object(checker.value)
  const places = [
    ...(Array.isArray(routes) ? routes : []).map((raw, at) => ({ raw, path: ['routes', at, 'queue'] })),
    ...gateways.map(({ name, options }) => ({ raw: options, path: ['gateways', name, 'queue'] })),
  ]
  for (const { raw, path } of places) {
    if (!isJsonObject(raw) || typeof raw.queue !== 'string') continue
    const own = { ...where, ...raw }
    const url = own.redis && String(own.redis)
    const isCluster = url?.includes(',') && !url.includes('-sentinel:')
    if (!url) {
      const todo = 'set `queues: { redis: redis://… }`, or REDIS_URL'
      checker.report(path, 'value', `the embedded store has no Redis for queues; ${todo}`)
    } else if (isCluster && !/\{.+\}/.test(String(own.prefix))) {
      const todo = 'on a Redis Cluster BullMQ needs a `prefix` in braces, such as "{bull}"'
      checker.report(path, 'value', todo)
    }
  }
}

/** Reports members without a gateway, which would match that name on every gateway. */
export function checkMembers(
  roles: z.output<typeof sections.access>['roles'],
  { gateways }: RouteWorld,
  checker: Checker,
): void {
  const gatewayNames = gateways.map(({ name }) => name)
  for (const [role, { members }] of Object.entries(roles)) {
    for (const [index, member] of members.entries()) {
      const report = (wrong: string) =>
        checker.report(['access', 'roles', role, 'members', index], 'value', wrong)
      try {
        compileMember(member, [...gatewayNames, '*'])
        const { gateway } = partsOf(member)
        if (!['', '*', ...gatewayNames].includes(gateway)) report(noSuch('gateway', gateway, gatewayNames))
      } catch (error) {
        report(reasonOf(error))
      }
    }
  }
}

type Topics = Readonly<Record<string, { groups: Record<string, { match?: RouteMatch }> }>>

/** Checks `topics:` against the gateways. */
export function checkTopics(topics: Topics, world: RouteWorld, checker: Checker): void {
  for (const [topic, { groups }] of Object.entries(topics)) {
    const isClosed = topic === LOG_TOPIC || topic.startsWith(REPLY_TOPICS)
    if (isClosed) checker.report(['topics', topic], 'key', 'it is reserved for Trivium')
    if (topic !== MESSAGE_TOPIC) continue
    for (const [group, { match = {} }] of Object.entries(groups))
      checkGateways(match, ['topics', topic, 'groups', group], world, checker)
  }
}
