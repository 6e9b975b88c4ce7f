import { z } from 'zod'
import { NOTIFIER } from '../../core/author.ts'
import { type Event, OPERATIONS_TOPIC } from '../../core/event.ts'
import { isJsonObject, type Json, toJson } from '../../core/json.ts'
import type { KeyValues, Topics } from '../../core/store.ts'
import { compileMatcher, type Matched } from '../../engine/matcher.ts'
import type { Outbox } from '../../engine/outbox.ts'
import { notificationBody, notificationText } from './notification-text.ts'
import type { NotifyRule } from './schema.ts'

/** Maximum number of events per notification. */
const MAX_EVENTS = 1_000

/** The key of a rule's state, by the id of the rule. */
export const ruleState = (id: string) => `notify:${id}`
/** A rule's consumer group on the operations topic. */
export const ruleGroup = (id: string) => `~${ruleState(id)}`

const notificationSchema = z.object({
  key: z.string(),
  subject: z.string(),
  text: z.string(),
  /** The body of the POST, if the rule has a URL. */
  body: z.json(),
  /** The events that it reports. */
  ids: z.array(z.string()),
})
type Notification = z.infer<typeof notificationSchema>

const stateSchema = z.object({
  /** Times of sent notifications (Unix ms) within the period of `at-most`. */
  sent: z.array(z.number()).default([]),
  /**
   * The notification that is being sent. It is stored first, so that the same one with the same key
   * is sent again after a crash.
   */
  sending: notificationSchema.exactOptional(),
})
type State = z.infer<typeof stateSchema>

type RuleDeps = {
  store: { kv: KeyValues; topics: Topics }
  outbox: Pick<Outbox, 'sendTo'>
  now(): number
}

/**
 * One rule of `notify:`: a consumer group of the operations topic, whose events are sent together
 * as often as `at-most` allows.
 */
export function createRule(rule: NotifyRule, { store, outbox, now }: RuleDeps) {
  const { kv, topics } = store
  const stateKey = ruleState(rule.id)
  const group = ruleGroup(rule.id)
  const isWanted = createFilter(rule)

  const read = async (): Promise<State> => stateSchema.parse((await kv.get(stateKey))?.value ?? {})
  const write = (state: State) => kv.set(stateKey, toJson(state))

  const deliver = async ({ key, subject, text, body }: Notification): Promise<void> => {
    if ('to' in rule) {
      await outbox.sendTo(rule.to.gateway, rule.to.to, { key, subject, text, by: NOTIFIER })
      return
    }
    const event = { type: 'notification', source: 'trivium', data: body, key }
    await topics.publish(rule.subscription.topic, [event])
  }

  /** Sends the stored notification, then acknowledges its events. Each step can be repeated. */
  const finish = async (state: State, notification: Notification): Promise<void> => {
    await deliver(notification)
    await topics.ack(OPERATIONS_TOPIC, group, notification.ids)
    await write({ sent: [...state.sent, now()] })
  }

  /** The waiting events that the rule wants. Acknowledges the others. */
  const readWaiting = async (): Promise<Event[]> => {
    const [batch] = await topics.read(OPERATIONS_TOPIC, [{ group, max: MAX_EVENTS, mode: 'peek' }])
    if (!batch) await topics.subscribe(OPERATIONS_TOPIC, group, 'now')
    const events = batch?.items ?? []
    const others = events.filter((event) => !isWanted(event)).map(({ id }) => id)
    if (others.length > 0) await topics.ack(OPERATIONS_TOPIC, group, others)
    return events.filter(isWanted)
  }

  return {
    rule,
    /** Creates the group: the rule gets all events published from now on. */
    begin: () => topics.subscribe(OPERATIONS_TOPIC, group, 'now'),
    /** Sends what is due. Returns the ms until the next step; undefined if no event waits. */
    async step(): Promise<number | undefined> {
      const state = await read()
      if (state.sending) {
        await finish(state, state.sending)
        return 0
      }
      const events = await readWaiting()
      const [first] = events
      if (!first) return undefined
      const { recent, wait } = limitRate(rule.atMost, state.sent, now())
      if (wait > 0) return wait
      const reported = rule.atMost === 'off' ? [first] : events
      const text = notificationText(reported)
      const ids = reported.map(({ id }) => id)
      const body: Json = toJson(notificationBody(text, reported))
      const sending = { ...text, body, ids, key: `notify:${rule.id}:${first.id}` }
      await write({ sent: recent, sending })
      await finish({ sent: recent }, sending)
      return 0
    },
  }
}

/** The sends that count towards the rate, and the time (ms) until the next one is allowed. */
function limitRate(atMost: NotifyRule['atMost'], sent: readonly number[], now: number) {
  if (atMost === 'off') return { recent: [], wait: 0 }
  const { count, per } = atMost
  // Times in the future do not count: after a clock was set back, they would delay for too long.
  const recent = sent.filter((at) => at > now - per && at <= now)
  // The next send is allowed when this one leaves the period: then fewer than `count` remain.
  const blocking = recent.at(-count)
  return { recent, wait: blocking === undefined ? 0 : blocking + per - now }
}

/** Returns a test for the events that a rule wants: by `on`, and by `match` as for messages. */
function createFilter({ on, match }: NotifyRule): (event: Event) => boolean {
  const types: readonly string[] = on
  const fits = match && compileMatcher(match)
  return (event) => types.includes(event.type) && (fits?.(asMessage(event)) ?? true)
}

/**
 * The event in the form of a message, for `match`: `gateway` is the affected gateway, `event` the
 * type, `text` the text. The rest is in `data`.
 */
function asMessage({ type, source, data, timestamp }: Event): Matched {
  const fields = isJsonObject(data) ? data : {}
  const { gateway, from } = isJsonObject(fields.where) ? fields.where : {}
  const text = `${fields.title ?? ''}\n${fields.text ?? ''}`
  return {
    gateway: String(gateway ?? ''),
    transport: source,
    from: { id: String(from ?? '') },
    receivedAt: timestamp,
    text,
    data: { ...fields, event: type },
  }
}
