// Checks of references between sections of the file.
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { AUDIT_TOPIC } from '../core/audit.ts'
import type { ProgramToken } from '../core/call.ts'
import { reasonOf } from '../core/errors.ts'
import { isInternal, MESSAGE_TOPIC } from '../core/event.ts'
import { compileMember, partsOf } from '../core/identity.ts'
import { isJsonObject } from '../core/json.ts'
import type { RouteMatch } from '../core/match.ts'
import { mcpServerOf } from '../core/mcp.ts'
import { type PushSubscription, pushSchema } from '../features/push/schema.ts'
import { nearest, noSuch, quote } from '../lib/nearest.ts'
import type { Checker } from './checker.ts'
import { checkGateways, type RouteContext } from './routes.ts'
import type { sections } from './sections.ts'
import { createUniqueNames } from './unique-names.ts'

/** Reports `answers` that name a skill that does not exist or waits for an approval. */
export function checkAnswers({ gateways, skills }: RouteContext, checker: Checker): void {
  if (!skills) return
  const skillNames = skills.map(({ name }) => name)
  for (const { name, options } of gateways) {
    const answers = isJsonObject(options) && isJsonObject(options.answers) ? options.answers : {}
    for (const [question, value] of Object.entries(answers)) {
      const skillName = String(value)
      const report = (message: string) =>
        checker.report(['gateways', name, 'answers', question], 'value', message)
      const skill = skills.find((each) => each.name === value)
      if (!skill) report(noSuch('skill', skillName, skillNames))
      else if (skill.metadata?.approval)
        report(`skill ${quote(skillName)} waits for an approval, but callers here wait only for seconds`)
    }
  }
}

/** Parses `subscriptions:`, and checks each entry, also against other entries and the gateways. */
export function parseSubscriptions(
  raw: unknown,
  context: RouteContext,
  checker: Checker,
): PushSubscription[] {
  const items = checker.parse(z.array(z.unknown()), raw ?? [], ['subscriptions']) ?? []
  const requireUnique = createUniqueNames('subscriptions', checker)
  return items.flatMap((item, index) => {
    const path = ['subscriptions', index]
    const subscription = checker.section(pushSchema, item, path)
    if (!subscription) return []
    const { name, topic, match = {} } = subscription
    const report = (key: string, message: string, severity?: 'warning') =>
      checker.report([...path, key], 'value', message, severity)
    requireUnique(name, path)
    if (isInternal(topic)) report('topic', 'it is reserved for Trivium')
    if (topic === MESSAGE_TOPIC) {
      checkGateways(match, path, context, checker)
    } else if (nearest(topic, [MESSAGE_TOPIC])) {
      report('topic', `only event-emit writes to it; did you mean "${MESSAGE_TOPIC}"?`, 'warning')
    }
    return withAbsolutePaths(subscription, dirname(checker.fileOf(path)))
  })
}

/** Resolves the paths in `tls`, which are relative to the file that contains them. */
function withAbsolutePaths(subscription: PushSubscription, folder: string): PushSubscription {
  const entries = Object.entries(subscription.tls ?? {}).map(([name, value]) => {
    return [name, value.startsWith('-----BEGIN ') ? value : resolve(folder, value)]
  })
  return subscription.tls ? { ...subscription, tls: Object.fromEntries(entries) } : subscription
}

/** A glob or a regular expression, rather than a name. */
const PATTERN_SIGNS = /[*?[{/]/

/** Checks `tokens:` against the gateways, and against the skills if they are known. */
export function checkTokens(
  tokens: readonly ProgramToken[],
  controlToken: string | undefined,
  { gateways, servers, skills }: RouteContext,
  checker: Checker,
): void {
  const gatewayNames = gateways.map(({ name }) => name)
  const skillNames = skills?.map(({ name }) => name) ?? []
  const requireUnique = createUniqueNames('tokens', checker)
  for (const [position, { name, token, ...rights }] of tokens.entries()) {
    const report = (path: (string | number)[], message: string) =>
      checker.report(['tokens', position, ...path], 'value', message)
    requireUnique(name, ['tokens', position])
    const earlier = [controlToken, ...tokens.slice(0, position).map((other) => other.token)]
    if (earlier.includes(token)) report(['token'], 'another entry has the same token; each must be unique')
    for (const [index, gateway] of rights.gateways.entries()) {
      if (gateway === '*' || gatewayNames.includes(gateway)) continue
      report(['gateways', index], noSuch('gateway', gateway, gatewayNames))
    }
    for (const [index, skill] of rights.skills.entries()) {
      if (!skills || skillNames.includes(skill) || PATTERN_SIGNS.test(skill)) continue
      if (servers.includes(mcpServerOf(skill) ?? '')) continue
      report(['skills', index], noSuch('skill', skill, skillNames))
    }
  }
}

/**
 * Reports queues without a Redis, and those on a Redis Cluster without the prefix that it needs.
 */
export function checkQueues(
  defaults: { redis?: string; prefix: string },
  { gateways }: RouteContext,
  checker: Checker,
): void {
  const { routes } = Object(checker.value)
  const places = [
    ...(Array.isArray(routes) ? routes : []).map((raw, index) => ({ raw, path: ['routes', index, 'queue'] })),
    ...gateways.map(({ name, options }) => ({ raw: options, path: ['gateways', name, 'queue'] })),
  ]
  for (const { raw, path } of places) {
    if (!isJsonObject(raw) || typeof raw.queue !== 'string') continue
    const queue = { ...defaults, ...raw }
    const url = queue.redis && String(queue.redis)
    // Several nodes are a Cluster, unless they are sentinels.
    const isCluster = url?.includes(',') && !url.includes('-sentinel:')
    if (!url) {
      const todo = 'set `queues: { redis: redis://… }`, or REDIS_URL'
      checker.report(path, 'value', `the embedded store has no Redis for queues; ${todo}`)
    } else if (isCluster && !/\{.+\}/.test(String(queue.prefix))) {
      const todo = 'on a Redis Cluster BullMQ needs a `prefix` in braces, such as "{bull}"'
      checker.report(path, 'value', todo)
    }
  }
}

/** Reports invalid members of roles, and members on gateways that do not exist. */
export function checkMembers(
  roles: z.output<typeof sections.access>['roles'],
  { gateways }: RouteContext,
  checker: Checker,
): void {
  const gatewayNames = gateways.map(({ name }) => name)
  const anyGateway = [...gatewayNames, '*']
  for (const [role, { members }] of Object.entries(roles)) {
    for (const [index, member] of members.entries()) {
      const report = (message: string) =>
        checker.report(['access', 'roles', role, 'members', index], 'value', message)
      try {
        compileMember(member, anyGateway)
        const { gateway } = partsOf(member)
        if (gateway !== '' && !anyGateway.includes(gateway)) report(noSuch('gateway', gateway, gatewayNames))
      } catch (error) {
        report(reasonOf(error))
      }
    }
  }
}

type Topics = Readonly<Record<string, { groups: Record<string, { match?: RouteMatch }> }>>

/** Checks `topics:` against the gateways. */
export function checkTopics(topics: Topics, context: RouteContext, checker: Checker): void {
  for (const [topic, { groups }] of Object.entries(topics)) {
    // The audit log is internal, but its retention can be set.
    if (isInternal(topic) && topic !== AUDIT_TOPIC)
      checker.report(['topics', topic], 'key', 'it is reserved for Trivium')
    if (topic !== MESSAGE_TOPIC) continue
    for (const [group, { match = {} }] of Object.entries(groups))
      checkGateways(match, ['topics', topic, 'groups', group], context, checker)
  }
}
