import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  desk: { transport: webhook, path: /desk, verify: { scheme: none }, text: data.body.text, conversation: data.body.chat }
routes:
  - { name: all, skill: work, retry: { attempts: 3, delay: 10ms } }
`
const SKILLS = {
  work: `import { appendFileSync } from 'node:fs'
export default { description: 'works', async run({ args, signal }) {
  appendFileSync('started', args.text + '\\n')
  if (!args.text.startsWith('stubborn')) return
  signal.addEventListener('abort', () => appendFileSync('aborted', args.text + '\\n'))
  await new Promise(() => setInterval(() => {}, 1_000))
} }`,
}

for (const store of ['embedded', 'redis'] as const) {
  describe(`a person takes over, on ${store}`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ routes: ROUTES, skills: SKILLS, store, ownProcess: true })
    const linesOf = (name: string) => {
      const path = join(suite.site.dir, name)
      return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
    }
    /** The texts of the runs that began, in order. */
    const started = (prefix: string) => linesOf('started').filter((text) => text.startsWith(prefix))
    const post = async (chat: string, text: string) => {
      const { status, body } = await suite.daemon.post('/desk', JSON.stringify({ chat, text }))
      assert.equal(status, 202)
      return String(Object(body).id)
    }
    const show = async (id: string) => Object(await suite.daemon.invoke('message-show', { id }))
    /** Waits until a message is done: one that is not done is run again after a kill. */
    const finished = (id: string) =>
      until(async () => (await show(id)).outcome === 'done', 'the end of a message')
    const pauses = async () => [await suite.daemon.invoke('pause-list')].flat()

    test('with drop, messages are recorded as handled by a person, and gateway-receive and event-wait still deliver them', async () => {
      const group = { topic: 'gateway-message', queue: 'watcher' }
      await suite.daemon.invoke('event-subscribe', group)
      const ids = [await post('a', 'drop 1')]
      await until(() => started('drop').length === 1, 'the first')
      await suite.daemon.invoke('conversation-pause', {
        conversation: 'desk:a',
        drop: true,
        reason: 'Ada has it',
      })
      ids.push(await post('a', 'drop 2'))
      await post('b', 'other')
      await until(() => started('other').length === 1, 'another conversation')
      const shown = await until(async () => {
        const found = await show(ids[1] ?? '')
        const note = found.history.find(({ what }: { what: string }) => what === 'handled by a person')
        return note && { ...found, note }
      }, 'the note')
      assert.equal(shown.outcome, 'dropped')
      const dropped = Object(await suite.daemon.invoke('message-search', { outcome: 'dropped' }))
      assert.deepEqual(
        dropped.messages.map(({ id }: { id: string }) => id),
        [ids[1]],
      )
      assert.equal(typeof shown.note.detail.since, 'number')
      assert.deepEqual(started('drop'), ['drop 1'])
      const received: string[] = []
      for (let left = 3; left > 0; left--)
        received.push(
          Object(await suite.daemon.invoke('gateway-receive', { gateway: 'desk', timeout: 0 })).text,
        )
      assert.deepEqual(received, ['drop 1', 'drop 2', 'other'])
      const events = Object(await suite.daemon.invoke('event-wait', { ...group, timeout: 0 }))
      assert.deepEqual(events.map(({ id }: { id: string }) => id).slice(0, 2), ids)
      await suite.daemon.invoke('conversation-resume', { conversation: 'desk:a' })
      await post('a', 'drop 3')
      await until(() => started('drop').length === 2, 'the third')
      assert.deepEqual(started('drop'), ['drop 1', 'drop 3'], 'messages that a person handled do not run')
    })

    test('waiting messages run in order after the resume, also after a kill', async () => {
      await finished(await post('c', 'order 0'))
      await suite.daemon.invoke('conversation-pause', { conversation: 'desk:c' })
      for (const n of [1, 2, 3]) await post('c', `order ${n}`)
      await suite.restart('SIGKILL')
      for (const n of [4, 5]) await post('c', `order ${n}`)
      await post('d', 'beside')
      await until(() => started('beside').length === 1, 'another conversation')
      assert.deepEqual(started('order'), ['order 0'])
      await suite.daemon.invoke('conversation-resume', { conversation: 'desk:c' })
      await post('c', 'order 6')
      await until(() => started('order').length === 7, 'all')
      assert.deepEqual(
        started('order'),
        [0, 1, 2, 3, 4, 5, 6].map((n) => `order ${n}`),
      )
    })

    for (const when of ['during', 'just after']) {
      test(`a kill ${when} a pause or a resume loses no message, and leaves one pause or none`, async () => {
        const chat = `kill-${when.replace(' ', '-')}`
        await finished(await post(chat, `${chat} 0`))
        const conversation = { conversation: `desk:${chat}` }
        /**
         * Kills the daemon while the call runs. With `just after`, another request is answered
         * first, so the call has probably ended.
         */
        const killAround = async (name: string) => {
          const call = suite.daemon.invoke(name, conversation).catch(() => undefined)
          if (when === 'just after') await suite.daemon.get('/v1/status')
          await suite.restart('SIGKILL')
          await call
          assert.ok((await pauses()).length <= 1)
        }
        await killAround('conversation-pause')
        await suite.daemon.invoke('conversation-pause', conversation)
        assert.equal((await pauses()).length, 1, 'a second pause of a conversation is not another pause')
        const waiting = await post(chat, `${chat} 1`)
        await post('free', `free ${when}`)
        await until(() => started(`free ${when}`).length === 1, 'another conversation')
        assert.equal(started(chat).length, 1)
        await killAround('conversation-resume')
        await suite.daemon.invoke('conversation-resume', conversation)
        assert.equal((await pauses()).length, 0)
        await finished(waiting)
        // The second kill may interrupt the waiting message, which is then run twice.
        assert.deepEqual([...new Set(started(chat))], [`${chat} 0`, `${chat} 1`])
      })
    }

    test('run-cancel takes effect although the daemon is killed, without another attempt', async () => {
      const id = await post('e', 'stubborn')
      await until(() => started('stubborn').length === 1, 'the run')
      const cancelling = suite.daemon
        .invoke('run-cancel', { messageId: id, reason: 'wrong customer' })
        .catch(() => undefined)
      await until(() => linesOf('aborted').length === 1, 'the abort')
      await suite.restart('SIGKILL')
      await cancelling
      await until(async () => (await show(id)).outcome === 'dead', 'the dead letter')
      assert.deepEqual(started('stubborn'), ['stubborn'])
      const letter = JSON.stringify(await suite.daemon.invoke('dead-letter-show', { id }))
      assert.match(letter, /run_cancelled.*wrong customer/)
      await post('e', 'after')
      await until(() => started('after').length === 1, 'the next message of the conversation')
    })
  })
}
