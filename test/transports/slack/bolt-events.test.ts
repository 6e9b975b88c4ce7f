// A Bolt app receives every event that Slack sends to it, as with Bolt alone: its own options
// filter them.
import assert from 'node:assert/strict'
import { after, afterEach, beforeEach, describe, test } from 'node:test'
import { routeSchema } from '../../../src/config/route-schema.ts'
import { type JsonObject, objectAt } from '../../../src/core/json.ts'
import { startRedisServer } from '../../fixtures/redis-server.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { compare, openApp } from './bolt-harness.ts'
import { callback, startSlackGateway } from './harness.ts'

/** Logs its events as posts to a channel of their own. `IGNORE` is replaced by the option. */
const APP = `
const { App } = require('@slack/bolt')
const { SLACK_BOT_TOKEN: token, SLACK_APP_TOKEN: appToken, SLACK_API_URL: slackApiUrl } = process.env
const app = new App({ token, appToken, socketMode: true, ignoreSelf: IGNORE, clientOptions: { slackApiUrl } })
const log = (by) => ({ event, context, client }) =>
  client.chat.postMessage({ channel: 'C0LOG', text: [by, event.type, event.subtype, context.botUserId, context.teamId].join(' ') })
app.event(/.*/, log('any'))
app.start()
`

const BOT_MESSAGE = { subtype: 'bot_message', bot_id: 'B0OTHER', user: '', username: 'alerts' }
const OWN = { user: 'U0BOT', bot_id: 'B0BOT', app_id: 'A0APP' }

/** Events that Slack may send, by name. `ts` is the timestamp of messages. */
const events = (ts: string): Record<string, JsonObject> => ({
  'a message': { text: 'hi', ts },
  'a message of another bot': { ...BOT_MESSAGE, text: 'disk full', ts },
  'a message of another app': { user: 'U0OTHER', bot_id: 'B0OTHER', app_id: 'A0OTHER', text: 'hi', ts },
  'a message of its own': { ...OWN, text: 'done', ts },
  'a message of its own webhook': { ...OWN, user: '', subtype: 'bot_message', text: 'done', ts },
  'a message of Slackbot': { user: 'USLACKBOT', text: 'reminder', ts },
  'a mention by another bot': {
    type: 'app_mention',
    user: 'U0OTHER',
    bot_id: 'B0OTHER',
    text: '<@U0BOT> hi',
    ts,
  },
  'an edit of its own': {
    subtype: 'message_changed',
    hidden: true,
    ts,
    user: '',
    message: { ...OWN, type: 'message', text: 'done!', ts: '1.1', edited: { user: 'U0BOT', ts } },
    previous_message: { ...OWN, type: 'message', text: 'done', ts: '1.1' },
  },
  'an edit that a link preview makes': {
    subtype: 'message_changed',
    hidden: true,
    ts,
    user: '',
    message: { type: 'message', user: 'U1ANN', text: 'https://example.com', ts: '1.2', attachments: [] },
    previous_message: { type: 'message', user: 'U1ANN', text: 'https://example.com', ts: '1.2' },
  },
  'a deletion': {
    subtype: 'message_deleted',
    hidden: true,
    ts,
    deleted_ts: '1.3',
    user: '',
    previous_message: { type: 'message', user: 'U1ANN', text: 'oops', ts: '1.3' },
  },
  'a deletion of its own': {
    subtype: 'message_deleted',
    hidden: true,
    ts,
    deleted_ts: '1.4',
    user: '',
    previous_message: { ...OWN, type: 'message', text: 'oops', ts: '1.4' },
  },
  'a deletion without what was there': { subtype: 'message_deleted', ts, deleted_ts: '1.5', user: '' },
  'a joined channel': { subtype: 'channel_join', text: '<@U1ANN> has joined the channel', ts },
  'a channel that it joined itself': { subtype: 'channel_join', user: 'U0BOT', text: 'has joined', ts },
  'a message in an assistant’s thread': { subtype: 'assistant_app_thread', ...OWN, text: 'New', ts },
  'a reminder': { subtype: 'reminder_add', user: 'USLACKBOT', text: 'set', ts },
  'a reaction': {
    type: 'reaction_added',
    reaction: 'eyes',
    item_user: 'U0BOT',
    item: { type: 'message', channel: 'C0GEN', ts: '1.6' },
  },
  'a reaction of its own': {
    type: 'reaction_added',
    user: 'U0BOT',
    reaction: 'eyes',
    item: { type: 'message', channel: 'C0GEN', ts: '1.6' },
  },
  'a reaction to a file': { type: 'reaction_added', reaction: 'eyes', item: { type: 'file', file: 'F1' } },
  'metadata of another bot': {
    type: 'message_metadata_posted',
    app_id: 'A0OTHER',
    bot_id: 'B0OTHER',
    user_id: 'U0OTHER',
    team_id: 'T0TEAM',
    channel_id: 'C0GEN',
    message_ts: ts,
    user: '',
    metadata: { event_type: 'e', event_payload: {} },
  },
  'metadata of its own': {
    type: 'message_metadata_posted',
    app_id: 'A0APP',
    bot_id: 'B0BOT',
    user_id: 'U0BOT',
    team_id: 'T0TEAM',
    channel_id: 'C0GEN',
    message_ts: ts,
    user: '',
    metadata: { event_type: 'e', event_payload: {} },
  },
  'a shared file': {
    type: 'file_shared',
    file_id: 'F1',
    user_id: 'U1ANN',
    file: { id: 'F1' },
    channel_id: 'C0GEN',
  },
  'a file of its own': {
    type: 'file_shared',
    file_id: 'F2',
    user_id: 'U0BOT',
    file: { id: 'F2' },
    channel_id: 'C0GEN',
  },
  'a public file': { type: 'file_public', file_id: 'F1', file: { id: 'F1' } },
  'a changed user': { type: 'user_change', user: { id: 'U1ANN', team_id: 'T0TEAM', name: 'ann' } },
  'a change of its own user': { type: 'user_change', user: { id: 'U0BOT', team_id: 'T0TEAM', name: 'bot' } },
  'a new member': { type: 'team_join', user: { id: 'U9NEW', team_id: 'T0TEAM' } },
  'a member who joins': { type: 'member_joined_channel', user: 'U1ANN', team: 'T0TEAM' },
  'itself that joins': { type: 'member_joined_channel', user: 'U0BOT', team: 'T0TEAM', inviter: 'U1ANN' },
  'a new channel': { type: 'channel_created', channel: { id: 'C0NEW', name: 'new', creator: 'U1ANN' } },
  'a renamed channel': { type: 'channel_rename', channel: { id: 'C0NEW', name: 'newer', created: 1 } },
  'a pin': {
    type: 'pin_added',
    channel_id: 'C0GEN',
    item: { type: 'message', channel: 'C0GEN', message: { ts: '1.6' } },
  },
  'a link': {
    type: 'link_shared',
    message_ts: ts,
    links: [{ url: 'https://example.com', domain: 'example.com' }],
  },
  'an opened home': { type: 'app_home_opened', channel: 'D1ANN', tab: 'home' },
  'a user group': { type: 'subteam_created', subteam: { id: 'S1', name: 'ops' } },
  emoji: { type: 'emoji_changed', subtype: 'add', name: 'ok' },
  'a call': {
    type: 'call_rejected',
    call_id: 'R1',
    user_id: 'U1ANN',
    channel_id: 'D1ANN',
    external_unique_id: '1',
  },
  'an event of an unknown type': { type: 'brand_new_thing', something: { deep: true } },
})

/** Delivers all events. An empty `user` stands for an event without that field. */
const deliverEveryEvent = async (
  deliver: (type: string, payload: JsonObject) => Promise<void>,
  slack: SlackServer,
) => {
  for (const event of Object.values(events('0'))) {
    const payload = callback(event.ts === '0' ? { ...event, ts: slack.nextTs() } : event)
    const { user, ...rest } = objectAt(payload, 'event')
    await deliver('events_api', user === '' ? { ...payload, event: rest } : payload)
  }
}

/** The log of the app, sorted, because listeners run in any order. */
const logged = (slack: SlackServer) =>
  slack.posts
    .filter(({ channel }) => channel === 'C0LOG')
    .map(({ text }) => text)
    .sort()

const deliverAcknowledged = async (slack: SlackServer, event: JsonObject) => {
  const { acked } = await slack.sockets.deliver('events_api', callback(event))
  assert.ok(acked)
}

describe('a Bolt app receives', () => {
  for (const ignoreSelf of [false, true]) {
    test(`the same events as with Bolt alone, with ignoreSelf: ${ignoreSelf}`, async (t) => {
      const counts: number[] = []
      const source = APP.replace('IGNORE', String(ignoreSelf))
      const { shown } = await compare(t, source, async (deliver, slack) => {
        await deliverEveryEvent(deliver, slack)
        await deliver(
          'events_api',
          callback({ type: 'tokens_revoked', tokens: { bot: ['U0OTHER'] }, user: '' }),
        )
        let [unchanged, before] = [0, -1]
        const isComplete = () => {
          const { length } = logged(slack)
          unchanged = length === before && length >= (counts[0] ?? 1) ? unchanged + 1 : 0
          before = length
          return unchanged > 30
        }
        await until(isComplete, 'the log of all events')
        counts.push(logged(slack).length)
        slack.posts.sort((a, b) => (a.text < b.text ? -1 : 1))
        slack.calls.sort((a, b) => (JSON.stringify(a.args) < JSON.stringify(b.args) ? -1 : 1))
      })
      assert.ok(shown.length > 30, `${shown.length} events were logged`)
      assert.equal(counts[0], counts[1])
    })
  }
})

describe('one post that mentions a Bolt app', () => {
  let slack: SlackServer
  beforeEach(async () => {
    slack = await startSlackServer()
  })
  afterEach(() => slack.close())

  for (const kind of ['the embedded store', 'Redis'])
    test(`calls its listeners of message and app_mention once each, also after redelivery and a restart, and is one message in ${kind}`, async () => {
      const redis = kind === 'Redis' ? await startRedisServer() : undefined
      after(() => redis?.stop())
      const env = redis ? { REDIS_URL: redis.url } : {}
      const site = openApp(slack, APP.replace('IGNORE', 'true').replace('/.*/', '/message|mention/'))
      let daemon = await site.start(env)
      const connected = () => until(() => slack.sockets.open() === 1, 'a socket')
      await connected()
      const post = { text: '<@U0BOT> help', ts: slack.nextTs() }
      const pair = [callback(post), callback({ ...post, type: 'app_mention' })]
      for (const payload of pair) assert.ok((await slack.sockets.deliver('events_api', payload)).acked)
      await until(() => logged(slack).length === 2, 'both events')
      for (const payload of pair.toReversed())
        assert.ok((await slack.sockets.deliver('events_api', payload, { retry: 1 })).acked)
      await daemon.end('SIGTERM')
      // The Slack server may notice later that the old socket is closed.
      await until(() => slack.sockets.open() === 0, 'no socket')
      daemon = await site.start(env)
      await connected()
      for (const payload of pair)
        assert.ok((await slack.sockets.deliver('events_api', payload, { retry: 2 })).acked)
      // Slack reports an edit by another app_mention.
      await deliverAcknowledged(slack, {
        ...post,
        type: 'app_mention',
        text: '<@U0BOT> help me',
        edited: { user: 'U1ANN', ts: '2' },
      })
      await deliverAcknowledged(slack, { text: 'the end', ts: slack.nextTs() })
      await until(() => logged(slack).length === 4, 'the edit and the last message')
      const mention = 'any app_mention  U0BOT T0TEAM'
      const message = 'any message  U0BOT T0TEAM'
      assert.deepEqual(logged(slack), [mention, mention, message, message])
      const { out } = await site.run(['message-list', '--json'], env)
      assert.match(out, /"app_mention"/)
      assert.equal(JSON.parse(out).messages?.length ?? JSON.parse(out).length, 2)
    })
})

describe('own messages, and those of bots and of Slackbot,', () => {
  const bolt = routeSchema.parse({ name: 'app', match: { event: '*' }, bolt: './app.js' })
  const skill = routeSchema.parse({ name: 'skill', match: { event: '*' }, skill: 'echo' })
  for (const [name, routes, deliveries] of [
    ['go to a Bolt app, and are not accepted as messages', [bolt], 3],
    ['are dropped if the route of a skill comes first', [skill, bolt], 0],
    ['are dropped without a Bolt app', [skill], 0],
  ] as const) {
    test(name, async () => {
      const setup = await startSlackGateway({}, undefined, { routes: [...routes] })
      const { server, fixture } = setup
      for (const event of [{ ...OWN }, { ...BOT_MESSAGE }, { user: 'USLACKBOT' }]) {
        const ts = server.nextTs()
        await deliverAcknowledged(server, { ...event, text: 'hi', ts })
        await deliverAcknowledged(server, { ...event, text: 'hi', ts })
      }
      assert.equal(fixture.store.messages.length, 0)
      assert.equal(fixture.aside.length, deliveries)
      await setup.close()
    })
  }
})
