import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = 'routes: [{ name: all, skill: slow, fallback: true }]'
/**
 * The first run ends when the daemon stops, the second one replies. The text of the message is the
 * path of a file, to which each run appends `started`.
 */
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

describe('trivium message', { timeout: 300_000 }, () => {
  test('runs the message in its own process if the daemon stops meanwhile, also with a key of the user', async () => {
    const site = openSite({
      routes: ROUTES,
      skills: { slow: SLOW },
      env: { TRIVIUM_GRACE: '1s' },
    })
    const daemon = await site.start()
    const started = join(site.dir, 'started')
    const sent = site.run(['message', 'cli', started, '--json', '--key', 'order-17'])
    await until(() => existsSync(started), 'a running skill')
    assert.equal(await daemon.end(), 0)
    const { code, out, err } = await sent
    assert.equal(code, 0, err)
    const result = JSON.parse(out)
    assert.partialDeepStrictEqual(result, { outcome: 'done', duplicate: false })
    assert.equal(result.replies[0].text, 'done at last')
    assert.equal(readFileSync(started, 'utf8'), 'started started ')
    const again = JSON.parse((await site.run(['message', 'cli', started, '--json', '--key', 'order-17'])).out)
    assert.deepEqual([again.id, again.duplicate], [result.id, true])
    const { messages } = JSON.parse((await site.run(['message', 'list', '--json'])).out)
    assert.deepEqual(
      messages.map(({ id }: { id: string }) => id),
      [result.id],
    )
  })
})
