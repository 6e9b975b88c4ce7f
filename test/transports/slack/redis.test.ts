import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { createSite, type DaemonProcess, type Site } from '../../fixtures/daemon.ts'
import { type RedisServer, startRedisServer } from '../../fixtures/redis-server.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { callback } from './harness.ts'

/** Slack's patience; then it delivers again. */
const SLACK = 3000

describe('two daemons of one Slack app on one Redis', { timeout: 120_000 }, () => {
  let redis: RedisServer
  let slack: SlackServer
  let site: Site
  let daemons: DaemonProcess[] = []

  before(async () => {
    redis = await startRedisServer()
    slack = await startSlackServer()
    site = createSite({
      env: { REDIS_URL: redis.url },
      routes: `
gateways:
  team: { transport: slack, mode: socket, botToken: xoxb-test, appToken: xapp-test, apiUrl: "${slack.apiUrl}", ping: 200ms, progress: off }
routes:
  - { name: talk, match: { gateway: team, event: message }, skill: echo }
`,
    })
    daemons = [await site.start(), await site.start({ TRIVIUM_DATA_DIR: '.trivium-2' })]
    await until(() => slack.sockets.open() === 2, 'a socket for each')
  })
  after(async () => {
    await Promise.all(daemons.map((daemon) => daemon.end('SIGKILL')))
    site.remove()
    await slack.close()
    await redis.stop()
  })

  const said = (text: string) => callback({ text, ts: slack.nextTs() })
  const answersTo = (text: string) => slack.posts.filter((post) => post.text === `You said: ${text}`).length

  /** Delivers as Slack does: again, over any socket, until it is acknowledged. */
  const deliver = async (event: JsonObject) => {
    for (let retry = 0; ; retry++) {
      const { acked } = await slack.sockets.deliver('events_api', event, { retry, within: SLACK })
      if (acked) return
    }
  }

  test('answer once what Slack delivers to both', async () => {
    const events = ['one', 'two', 'three', 'four'].map((text) => ({ text, event: said(text) }))
    await Promise.all(events.flatMap(({ event }) => [deliver(event), deliver(event)]))
    await until(() => events.every(({ text }) => answersTo(text) > 0), 'an answer to each')
    await deliver(said('after'))
    await until(() => answersTo('after') > 0, 'the next answer')
    for (const { text } of events) assert.equal(answersTo(text), 1, text)
  })

  test('go on as one when the other is killed, and answer what it left', async () => {
    const delivery = deliver(said('whose?'))
    await daemons.shift()?.end('SIGKILL')
    await delivery
    await until(() => answersTo('whose?') > 0, 'an answer', 40_000)
    assert.equal(answersTo('whose?'), 1)
  })
})
