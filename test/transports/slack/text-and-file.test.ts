import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import { pathGet } from '../../../src/core/json.ts'
import type { Reply } from '../../../src/core/transport.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { type Fault, startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { ask, callback, file, replyTo, startSlackGateway } from './harness.ts'

const setup = await startSlackGateway()
after(() => setup.close())
const { server, transport } = setup
/** The posts in a thread, without the number of a file's id. */
const postsIn = (thread: unknown) =>
  server.posts.filter((post) => post.thread_ts === thread).map(({ text }) => text.replace(/\d+/, ''))

/** Sends like the outbox: if the outcome is unknown, it probes, and then tries again. */
async function sendAsOutbox(reply: Reply, attempts = 5): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return void (await transport.send(reply))
    } catch (error) {
      if (!(error instanceof TriviumError) || attempt === attempts) throw error
      if (error.code === 'send_ambiguous') {
        const probed = await transport.probe?.(reply)
        if (probed?.sent === true) return
        assert.notEqual(probed?.sent, 'unknown')
      }
    }
  }
}

const FAULTS: [name: string, method: string, faults: Fault[]][] = [
  ['503 when an upload is begun', 'files.getUploadURLExternal', [{ status: 503, body: {} }]],
  ['a connection dropped when an upload is begun', 'files.getUploadURLExternal', [{ hangUp: true }]],
  ['a connection dropped during the upload', 'upload', [{ hangUp: true }, { status: 500 }]],
  ['internal_error at completion', 'files.completeUploadExternal', [{}, {}]],
  ['a connection dropped before completion', 'files.completeUploadExternal', [{ hangUp: true }]],
  ['a lost answer to the completion', 'files.completeUploadExternal', [{ apply: true, hangUp: true }]],
  [
    'two lost answers to completions',
    'files.completeUploadExternal',
    [{ hangUp: true }, { apply: true, status: 503 }],
  ],
]

describe('a reply with a text and a file is posted completely and once after', () => {
  for (const [name, method, faults] of FAULTS) {
    test(name, async () => {
      const message = await ask(setup)
      const reply = replyTo(message, 'the report', { attachments: [await file(setup)] })
      server.answerNext(method, ...faults)
      await sendAsOutbox(reply)
      assert.deepEqual(postsIn(message.data.thread), ['the report', 'files:F'])
    })
  }

  test('no fault, with the bytes of the file as they were, also outside of a thread', async () => {
    const bytes = Buffer.from([0, 0xff, 0xc3, 0x28, 0x0a, 0x80])
    const attachments = [await file(setup, bytes)]
    const to = { conversation: 'U1ANN', to: 'U1ANN' }
    await transport.send({ key: 'picture', gateway: 'team', text: '', ...to, attachments })
    const { ts = '', channel = '', files } = server.posts.at(-1) ?? {}
    const headers = { authorization: 'Bearer xoxb-test' }
    const stored = await fetch(new URL(`/files/${pathGet(files, '0.id')}`, server.apiUrl), { headers })
    assert.deepEqual(Buffer.from(await stored.arrayBuffer()), bytes)
    const query = new URLSearchParams({ channel, ts })
    const replies = await fetch(`${server.apiUrl}conversations.replies?${query}`, { headers })
    assert.equal(pathGet(await replies.json(), 'messages.0.ts'), ts)
  })

  test('a kill between the text and the file', async (t) => {
    const slack = await startSlackServer()
    t.after(() => slack.close())
    const site = openSite({
      routes: `
gateways:
  team: { transport: slack, mode: socket, bot-token: xoxb-test, app-token: xapp-test, api-url: "${slack.apiUrl}" }
routes:
  - { name: report, match: { gateway: team }, skill: report }
`,
    })
    site.write(
      'skills/report/index.ts',
      `export default {
  description: 'A report', 
  run: async ({ artifacts }) => ({
    text: 'the report',
    attachments: [await artifacts.save('report.txt', 'text/plain', Buffer.from('all is well'))],
  }),
}`,
    )
    const daemon = await site.spawn()
    await until(() => slack.sockets.open() === 1, 'a socket')
    const release = slack.hold('files.getUploadURLExternal')
    await slack.sockets.deliver('events_api', callback({ text: 'report', ts: slack.nextTs() }))
    await until(() => slack.posts.length === 1, 'the text')
    await until(() => slack.calls.some(({ method }) => method === 'files.getUploadURLExternal'), 'an upload')
    await daemon.end('SIGKILL')
    release()
    await site.start()
    await until(() => slack.posts.length === 2, 'the file')
    assert.deepEqual(
      slack.posts.map(({ text }) => text.replace(/\d+/, '')),
      ['the report', 'files:F'],
    )
  })
})
