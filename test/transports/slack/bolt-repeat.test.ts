// A listener that fails is run again, without repeating its changes in Slack.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { openApp } from './bolt-harness.ts'
import { callback } from './harness.ts'

/** `failFirst(message, times)` throws in the first runs of a message. */
const APP = `
const runs = {}
const failFirst = (message, times) => {
  runs[message.ts] = (runs[message.ts] ?? 0) + 1
  if (runs[message.ts] <= times) throw new Error('not yet')
}
export default (app) => {
  app.message('tidy', async ({ client, message, say }) => {
    const { channel, ts: timestamp } = message
    const eyes = { channel, timestamp, name: 'eyes' }
    await client.reactions.add(eyes)
    await client.reactions.remove(eyes)
    await client.pins.add({ channel, timestamp })
    await client.pins.remove({ channel, timestamp })
    const { ts } = await say('working')
    await client.chat.update({ channel, ts, text: 'half' })
    await client.chat.delete({ channel, ts })
    const { canvas_id } = await client.canvases.create({ title: 'Notes of ' + process.hrtime.bigint() })
    await client.conversations.setTopic({ channel, topic: canvas_id })
    await client.conversations.archive({ channel })
    failFirst(message, 2)
    await say('tidied ' + canvas_id)
  })
  app.message('lost', async ({ client, message, say }) => {
    const { channel, ts: timestamp } = message
    await client.reactions.remove({ channel, timestamp, name: 'eyes' })
    await client.pins.remove({ channel, timestamp })
    await client.chat.delete({ channel, ts: timestamp })
    await client.conversations.archive({ channel })
    await say('lost and found')
  })
  app.message('changed', async ({ client, message, say }) => {
    const { channel, ts: timestamp } = message
    const isFirst = !runs[timestamp]
    const { ts } = await say('begun')
    await client.reactions.add({ channel, timestamp, name: isFirst ? 'eyes' : 'rocket' })
    await client.chat.update({ channel, ts, text: 'running' })
    await client.chat.update({ channel, ts, text: isFirst ? 'failed' : 'better' })
    await client.chat.postMessage(isFirst ? { channel: 'C0ONE', text: 'to one' } : { channel: 'C0TWO', text: 'to two' })
    failFirst(message, 1)
    await client.chat.update({ channel, ts, text: 'done' })
    await say('changed it')
  })
}
`

const slack = await startSlackServer()
after(() => slack.close())
const site = openApp(slack, APP, 'apps/app.mjs')
const daemon = await site.spawn()
await until(() => slack.sockets.open() === 1, 'a socket')

const say = (text: string, channel: string) =>
  slack.sockets.deliver('events_api', callback({ text, channel, ts: slack.nextTs() }))
const ok = (more = {}) => ({ body: { ok: true, ...more } })
const refused = (error: string) => ({ body: { ok: false, error } })
const lost = { hangUp: true }
const posted = (text: string) => until(() => slack.posts.some((post) => post.text.startsWith(text)), text)
const callsIn = (channel: string) =>
  slack.calls.filter(({ args }) => args.channel === channel).map(({ method }) => method)

describe('a listener that is run again', () => {
  test('changes nothing twice, and gets the same answers again', async () => {
    slack.answerNext('pins.add', ok())
    slack.answerNext('pins.remove', ok(), refused('no_pin'))
    slack.answerNext('canvases.create', ok({ canvas_id: 'F0FIRST' }), ok({ canvas_id: 'F0SECOND' }))
    slack.answerNext('conversations.setTopic', ok())
    slack.answerNext('conversations.archive', ok(), refused('already_archived'))
    await say('tidy', 'C0TIDY')
    await posted('tidied F0FIRST')
    const changed = callsIn('C0TIDY').filter((method) => !/info|history|replies/.test(method))
    assert.deepEqual(changed, [
      ...['reactions.add', 'reactions.remove', 'pins.add', 'pins.remove', 'chat.postMessage', 'chat.update'],
      ...['chat.delete', 'conversations.setTopic', 'conversations.archive', 'chat.postMessage'],
    ])
    assert.equal(slack.calls.filter(({ method }) => method === 'canvases.create').length, 1)
    slack.heal('canvases.create')
  })

  test('treats a change as done if the repeated call shows that it was', async () => {
    slack.answerNext('reactions.remove', lost, refused('no_reaction'))
    slack.answerNext('pins.remove', lost, refused('no_pin'))
    slack.answerNext('chat.delete', { status: 503, body: {} }, refused('message_not_found'))
    slack.answerNext('conversations.archive', refused('internal_error'), refused('already_archived'))
    await say('lost', 'C0LOST')
    await posted('lost and found')
  })

  test('makes only the new calls if it behaves differently', async () => {
    await say('changed', 'C0OTHER')
    await posted('changed it')
    const here = slack.posts.filter(({ channel }) => ['C0OTHER', 'C0ONE', 'C0TWO'].includes(channel))
    assert.deepEqual(
      here.map(({ text }) => text),
      ['done', 'to one', 'to two', 'changed it'],
    )
    const names = slack.calls.filter(({ args }) => args.channel === 'C0OTHER').map(({ args }) => args.name)
    assert.deepEqual(names.filter(Boolean), ['eyes', 'rocket'])
  })

  test('continues after a kill, although the answer of the last call was lost', async () => {
    slack.answerNext('pins.remove', ok())
    // Removes the answers that an earlier test left.
    slack.heal('reactions.remove')
    slack.answerNext('chat.delete', ok())
    const release = slack.hold('conversations.archive')
    await say('lost again', 'C0KILL')
    await until(() => callsIn('C0KILL').includes('conversations.archive'), 'the call')
    await daemon.end('SIGKILL')
    release()
    slack.answerNext('conversations.archive', refused('already_archived'))
    await site.start()
    const isDone = () =>
      slack.posts.some(({ channel, text }) => channel === 'C0KILL' && text === 'lost and found')
    await until(isDone, 'the end')
    assert.equal(callsIn('C0KILL').filter((method) => method === 'pins.remove').length, 1)
  })
})
