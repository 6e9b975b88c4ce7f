import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { Readable } from 'node:stream'
import { TriviumError } from '../../../src/core/errors.ts'
import { isJsonObject, type JsonObject } from '../../../src/core/json.ts'
import type { Attachment, Message } from '../../../src/core/message.ts'
import type { Route } from '../../../src/core/route.ts'
import type { Receipt, Reply, Transport } from '../../../src/core/transport.ts'
import type { SlackDeps } from '../../../transports/slack/host.ts'
import { slack } from '../../../transports/slack/index.ts'
import { type SlackOptions, slackOptions } from '../../../transports/slack/options.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { startTransportFixture } from '../../fixtures/transport-deps.ts'
import { until } from '../../fixtures/until.ts'

/** A running gateway and the server that stands in for Slack. */
export type SlackSetup = Awaited<ReturnType<typeof startSlackGateway>>

export function socketOptions(server: Pick<SlackServer, 'apiUrl'>, more: object = {}): SlackOptions {
  return slackOptions.parse({
    mode: 'socket',
    'bot-token': 'xoxb-test',
    'app-token': 'xapp-test',
    'api-url': server.apiUrl,
    progress: 'off',
    ...more,
  })
}

/**
 * Starts a gateway and waits until it is connected. Also starts a Slack server, unless one is
 * given.
 */
export async function startSlackGateway(
  more: object = {},
  ask?: SlackDeps['ask'],
  { server: given, now, routes = [] }: { server?: SlackServer; now?: () => number; routes?: Route[] } = {},
) {
  const server = given ?? (await startSlackServer())
  const optional = { ...(ask ? { ask } : {}), ...(now ? { now } : {}) }
  const fixture = await startTransportFixture({ gateway: 'team', routes, ...optional })
  const transport = await slack.create(socketOptions(server, more), fixture.deps)
  await transport.start()
  const closing = [async () => end(transport), () => fixture.close()]
  await until(() => /^connected|^listening/.test(transport.health().detail ?? ''), 'a connection')
  return {
    server,
    fixture,
    transport,
    /** Starts a second gateway of the same app on the same store, as a second daemon does. */
    async another() {
      const second = await startTransportFixture({ gateway: 'team', store: fixture.store })
      const other = await slack.create(socketOptions(server, more), second.deps)
      await other.start()
      await until(() => /^connected/.test(other.health().detail ?? ''), 'a second connection')
      closing.unshift(
        async () => end(other),
        () => second.close(),
      )
      return { transport: other, fixture: second }
    },
    async close() {
      for (const each of closing) await each()
      await server.close()
    },
  }
}

async function end(transport: Transport) {
  await transport.stop()
  await transport.close()
}

let events = 0
const DEFAULT_EVENT = { type: 'message', channel: 'C0GEN', channel_type: 'channel', user: 'U1ANN' }

/** An Events API callback with this event. By default, it is a message of Ann in #general. */
export function callback(event: JsonObject, eventId = `Ev${++events}`): JsonObject {
  return {
    type: 'event_callback',
    team_id: 'T0TEAM',
    api_app_id: 'A0APP',
    event_id: eventId,
    event_time: Math.floor(Date.now() / 1000),
    authorizations: [{ team_id: 'T0TEAM', user_id: 'U0BOT', is_bot: true }],
    event: { ...DEFAULT_EVENT, event_ts: (Date.now() / 1000).toFixed(6), ...event },
  }
}

/** The headers with which Slack signs a request. */
export function signed(body: string, secret: string, at = Date.now() / 1000): Record<string, string> {
  const timestamp = String(Math.floor(at))
  const digest = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')
  return { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': `v0=${digest}` }
}

/** The rich text block that Slack's own clients send for plain text. */
export function richText(text: string): JsonObject[] {
  const section = { type: 'rich_text_section', elements: [{ type: 'text', text }] }
  return [{ type: 'rich_text', elements: [section] }]
}

/** A reply to a message, as the outbox creates it. */
export function replyTo(message: Message, text: string, more: Partial<Reply> = {}): Reply {
  const target = message.data.replyTarget
  return {
    key: `${message.id}:route:0`,
    gateway: message.gateway,
    conversation: message.conversation,
    inReplyTo: message.id,
    text,
    ...(isJsonObject(target) ? { target } : {}),
    ...more,
  }
}

/**
 * Delivers a payload, which must be acknowledged. Resolves with the messages that were accepted for
 * it.
 */
export async function messagesFrom(
  { server, fixture }: SlackSetup,
  type: string,
  payload: JsonObject,
): Promise<Message[]> {
  const before = fixture.store.messages.length
  const { acked } = await server.sockets.deliver(type, payload)
  assert.ok(acked, 'the payload was not acknowledged')
  return fixture.store.messages.slice(before)
}

async function messageFrom(setup: SlackSetup, type: string, payload: JsonObject): Promise<Message> {
  const [message] = await messagesFrom(setup, type, payload)
  return message ?? assert.fail('no message was accepted')
}

/** Delivers an event and resolves with its message. */
export function deliverEvent(setup: SlackSetup, event: JsonObject): Promise<Message> {
  return messageFrom(setup, 'events_api', callback({ ts: setup.server.nextTs(), ...event }))
}

let channels = 0

/** Delivers a question in a new channel, since Slack limits the posts to each channel. */
export function ask(setup: SlackSetup, text = 'a question'): Promise<Message> {
  return deliverEvent(setup, { text, channel: `C${++channels}` })
}

let triggers = 0

/** The payload of the slash command `/ask why?`, typed by Ann in #general. */
export function slashCommand({ apiUrl }: Pick<SlackServer, 'apiUrl'>, more: JsonObject = {}): JsonObject {
  const id = String(++triggers)
  return {
    command: '/ask',
    text: 'why?',
    user_id: 'U1ANN',
    user_name: 'ann',
    channel_id: 'C0GEN',
    team_id: 'T0TEAM',
    response_url: apiUrl.replace('/api/', `/respond/${id}`),
    trigger_id: `command.${id}`,
    ...more,
  }
}

/** The payload of an interaction of Ann: a click, a submission or the like. */
export function interactionOf(payload: JsonObject): JsonObject {
  const who = { team: { id: 'T0TEAM' }, user: { id: 'U1ANN', name: 'ann' } }
  return { ...who, trigger_id: `click.${++triggers}`, ...payload }
}

/** The payload of a click by Ann on a button in #general. */
export function buttonClick(more: JsonObject = {}): JsonObject {
  return interactionOf({
    type: 'block_actions',
    channel: { id: 'C0GEN', name: 'general' },
    actions: [{ action_id: 'pick', block_id: 'b', value: 'x', action_ts: '1', type: 'button' }],
    ...more,
  })
}

/** Delivers a slash command of Ann and resolves with its message. */
export function command(setup: SlackSetup, more: JsonObject = {}): Promise<Message> {
  return messageFrom(setup, 'slash_commands', slashCommand(setup.server, more))
}

/** Delivers a click of Ann and resolves with its message. */
export function click(setup: SlackSetup, more: JsonObject = {}): Promise<Message> {
  return messageFrom(setup, 'interactive', buttonClick(more))
}

/** A file that can be attached to a reply. */
export function file({ fixture }: SlackSetup, content = Buffer.from('hi')): Promise<Attachment> {
  return fixture.deps.artifacts.save('report.txt', 'text/plain', Readable.from([content]), 100)
}

/** A fault: Slack executes the call, and the connection breaks before the answer. */
export const lost = { apply: true, hangUp: true }

/**
 * Sends a reply while Slack's response is lost, then does what the outbox does: probes, and sends
 * again.
 */
export async function sendLost({ transport }: Pick<SlackSetup, 'transport'>, reply: Reply): Promise<Receipt> {
  await assert.rejects(transport.send(reply), failing('send_ambiguous'))
  const found = await transport.probe?.(reply)
  assert.notEqual(found?.sent, 'unknown')
  return transport.send(reply)
}

/** The visible text of a post: its markdown block, or else its text. */
export function shown({ text, blocks }: { text?: unknown; blocks?: unknown }): string {
  const [first] = Array.isArray(blocks) ? blocks : []
  return String(first?.type === 'markdown' ? first.text : text)
}

/** Paragraphs that each fill a post. */
export function paragraphs(count: number): string[] {
  return Array.from({ length: count }, (_, each) => `${each}`.repeat(9000))
}

/** Delivers an interaction of Ann and resolves with its message. */
export function interact(setup: SlackSetup, payload: JsonObject): Promise<Message> {
  return messageFrom(setup, 'interactive', interactionOf(payload))
}

/** A predicate for errors of Trivium with this code. */
export function failing(code: string): (error: unknown) => boolean {
  return (error) => error instanceof TriviumError && error.code === code
}
