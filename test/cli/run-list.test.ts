import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const SLOW = `export default {
  description: 'Runs until it is cancelled',
  run: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
}`

describe('run list', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: 'routes: [{ name: slowly, skill: slow }]' })
  site.write('skills/slow/index.ts', SLOW)
  await site.start()

  test('has the attempts that run now, with the command that ends one; without any it says so', async () => {
    const none = await site.run(['run'])
    assert.deepEqual([none.code, none.out], [0, ''])
    assert.match(none.err, /^Nothing runs now\./)
    assert.match((await site.run(['job'])).err, /`trivium run list`/)

    const sent = await site.run(['message', 'cli', 'hello there', '--from', 'ada', '--wait', '0', '--json'])
    const { id } = JSON.parse(sent.out)
    const running = await until(async () => {
      const { out, err } = await site.run(['run', 'list'])
      return out.includes('skill slow') ? { out, err } : undefined
    }, 'the attempt')
    assert.match(
      running.out,
      new RegExp(`^id\tsince\twhat\tby\ttext\n${id}\t20.*Z\troute slowly, skill slow\tada\thello there`),
    )
    assert.match(running.err, /`trivium run cancel ID`/)
    const { messages, jobs } = JSON.parse((await site.run(['run', '--json'])).out)
    assert.deepEqual([messages[0].id, messages[0].attempt.skill, jobs], [id, 'slow', []])

    const cancelled = await site.run(['run', 'cancel', id, '--reason', 'it hangs'])
    assert.match(
      cancelled.out,
      /^Cancelled: message .* is a dead letter now\. To retry it: `trivium dead-letter retry /,
    )
  })

  test('run cancel says in a sentence if it dropped the message, or if there was nothing to end', async () => {
    const sent = await site.run(['message', 'cli', 'again', '--wait', '0', '--json'])
    const { id } = JSON.parse(sent.out)
    await until(async () => (await site.run(['run', 'list'])).out.includes(id), 'the attempt')
    const { out } = await site.run(['run', 'cancel', id, '--drop'])
    assert.match(out, /^Cancelled, and its dead letter is dropped: `trivium message show /)
    const late = await site.run(['run', 'cancel', id])
    assert.equal(late.code, 1)
    assert.match(late.err, /^trivium: /)
  })
})
