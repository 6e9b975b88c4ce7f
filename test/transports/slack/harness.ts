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

/** A running gateway and the Slack that it talks to. */
export type World = Awaited<ReturnType<typeof startWorld>>

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

/** Starts a Slack, where none is given, and a gateway on it, connected. */
export async function startWorld(
  more: object = {},
  ask?: SlackDeps['ask'],
  { server: given, now, routes = [] }: { server?: SlackServer; now?: () => number; routes?: Route[] } = {},
) {
  const server = given ?? (await startSlackServer())
  const known = { routes, ...(ask ? { ask } : {}), ...(now ? { now } : {}) }
  const fixture = await startTransportFixture({ gateway: 'team', ...known })
  const transport = await slack.create(socketOptions(server, more), fixture.deps)
  await transport.start()
  const closing = [async () => end(transport), () => fixture.close()]
  await until(() => /^connected|^listening/.test(transport.health().detail ?? ''), 'a connection')
  return {
    server,
    fixture,
    transport,
    /** Another gateway of the same app and store: a second daemon. */
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
const FRESH = { type: 'message', channel: 'C0GEN', channel_type: 'channel', user: 'U1ANN' }

/** An Events API callback with this event; `message` unless it says otherwise. */
export function callback(event: JsonObject, eventId = `Ev${++events}`): JsonObject {
  return {
    type: 'event_callback',
    team_id: 'T0TEAM',
    api_app_id: 'A0APP',
    event_id: eventId,
    event_time: Math.floor(Date.now() / 1000),
    authorizations: [{ team_id: 'T0TEAM', user_id: 'U0BOT', is_bot: true }],
    event: { ...FRESH, event_ts: (Date.now() / 1000).toFixed(6), ...event },
  }
}

/** The headers by which Slack proves that a request is its own. */
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

/** A reply to a message, as the outbox makes it. */
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

/** Delivers what must be acknowledged, and resolves with the messages that became of it. */
export async function taken(
  { server, fixture }: World,
  type: string,
  payload: JsonObject,
): Promise<Message[]> {
  const before = fixture.store.messages.length
  const { acked } = await server.sockets.deliver(type, payload)
  assert.ok(acked, 'it was not acknowledged')
  return fixture.store.messages.slice(before)
}

async function takenOne(world: World, type: string, payload: JsonObject): Promise<Message> {
  const [message] = await taken(world, type, payload)
  return message ?? assert.fail('it started nothing')
}

/** Delivers an event and resolves with the message that became of it. */
export function deliverEvent(world: World, event: JsonObject): Promise<Message> {
  return takenOne(world, 'events_api', callback({ ts: world.server.nextTs(), ...event }))
}

let channels = 0

/** A question in a channel of its own, as Slack limits what is posted to one. */
export function ask(world: World, text = 'a question'): Promise<Message> {
  return deliverEvent(world, { text, channel: `C${++channels}` })
}

let triggers = 0

/** What Ann typed in #general, `/ask why?`. */
export function typed({ apiUrl }: Pick<SlackServer, 'apiUrl'>, more: JsonObject = {}): JsonObject {
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

/** What Ann did: a click, a submission or the like. */
export function done(payload: JsonObject): JsonObject {
  const who = { team: { id: 'T0TEAM' }, user: { id: 'U1ANN', name: 'ann' } }
  return { ...who, trigger_id: `click.${++triggers}`, ...payload }
}

/** What Ann clicked, a button in #general. */
export function clicked(more: JsonObject = {}): JsonObject {
  return done({
    type: 'block_actions',
    channel: { id: 'C0GEN', name: 'general' },
    actions: [{ action_id: 'pick', block_id: 'b', value: 'x', action_ts: '1', type: 'button' }],
    ...more,
  })
}

/** Resolves with the message of what Ann typed. */
export function command(world: World, more: JsonObject = {}): Promise<Message> {
  return takenOne(world, 'slash_commands', typed(world.server, more))
}

/** Resolves with the message of what Ann clicked. */
export function click(world: World, more: JsonObject = {}): Promise<Message> {
  return takenOne(world, 'interactive', clicked(more))
}

/** A file that a reply can carry. */
export function file({ fixture }: World): Promise<Attachment> {
  return fixture.deps.artifacts.save('report.txt', 'text/plain', Readable.from([Buffer.from('hi')]), 100)
}

/** A fault: Slack carries out the call, and the connection breaks before the answer. */
export const lost = { apply: true, hangUp: true }

/** As the outbox sends a reply whose answer is lost: it looks, and sends again. */
export async function sendLost({ transport }: Pick<World, 'transport'>, reply: Reply): Promise<Receipt> {
  await assert.rejects(transport.send(reply), failing('send_ambiguous'))
  const found = await transport.probe?.(reply)
  assert.notEqual(found?.sent, 'unknown')
  return transport.send(reply)
}

/** What people see of a post: the markdown that Slack renders, else its text. */
export function shown({ text, blocks }: { text?: unknown; blocks?: unknown }): string {
  const [first] = Array.isArray(blocks) ? blocks : []
  return String(first?.type === 'markdown' ? first.text : text)
}

/** As many paragraphs, each of which fills a post. */
export function paragraphs(count: number): string[] {
  return Array.from({ length: count }, (_, each) => `${each}`.repeat(9000))
}

/** Resolves with the message of what Ann did. */
export function interact(world: World, payload: JsonObject): Promise<Message> {
  return takenOne(world, 'interactive', done(payload))
}

/** Whether an error is ours, of this code. */
export function failing(code: string): (error: unknown) => boolean {
  return (error) => error instanceof TriviumError && error.code === code
}
