import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = 'routes: [{ name: all, skill: slow, fallback: true }]'
/** Runs until the daemon stops the first time, and answers the second time. The message names the file that tells. */
const SLOW = `
import { appendFileSync, existsSync } from 'node:fs'
export default {
  description: 'is slow',
  async run({ message, signal }) {
    const isSecond = existsSync(message.text)
    appendFileSync(message.text, 'started ')
    if (isSecond) return { text: 'done at last' }
    await new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason)))
  },
}
`

describe('a message from the command line whose daemon stops', { timeout: 120_000 }, () => {
  test('is accepted once, and its reply comes from whoever has the store next', async () => {
    const site = openSite({
      routes: ROUTES,
      skills: { slow: SLOW },
      env: { TRIVIUM_GRACE: '1s' },
    })
    const daemon = await site.start()
    const started = join(site.dir, 'started')
    const sent = site.run(['message', 'cli', started, '--json'])
    await until(() => existsSync(started), 'a running skill')
    assert.equal(await daemon.end(), 0)
    const { code, out, err } = await sent
    assert.equal(code, 0, err)
    const { id, outcome, duplicate, replies } = JSON.parse(out)
    assert.deepEqual([outcome, duplicate, replies[0].text], ['done', false, 'done at last'])
    assert.equal(readFileSync(started, 'utf8'), 'started started ')
    const { messages } = JSON.parse((await site.run(['message', 'list', '--json'])).out)
    assert.deepEqual(
      messages.map((each: { id: string }) => each.id),
      [id],
    )
  })
})
