import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const SECRET = 'sk-live-4f9c2b7d1e8a'

/** Fails like HTTP clients: the text of the error has the URL, and the URL has the secret. */
const LEAKS = `
export default {
  description: 'calls a service',
  async run() { throw new Error('GET https://shop.example?key=' + process.env.SHOP_KEY + ' was answered 401') },
}`

describe('a secret of the configuration in an error of a skill', { timeout: 300_000 }, () => {
  test('is not in the dead letter, history, answer, list of runs or log', async () => {
    const routes = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: bearer, secret: "\${SHOP_KEY}" } }
routes:
  - { name: all, skill: leaks, fallback: true, retry: { attempts: 1 } }
`
    const site = openSite({ routes, skills: { leaks: LEAKS }, ownProcess: true, env: { SHOP_KEY: SECRET } })
    const daemon = await site.start()
    const { out, code } = await site.run(['message', 'cli', 'hello', '--json'])
    assert.equal(code, 1, out)
    const { id } = JSON.parse(out)
    const answered = await site.run(['leaks', '--json'])
    const runs = async () => Object(await daemon.invoke('skill-usage', { name: 'leaks' })).recent
    await until(async () => (await runs()).length === 2, 'both runs')
    const places = {
      answered: answered.out + answered.err,
      letter: JSON.stringify(await daemon.invoke('dead-letter-show', { id })),
      history: JSON.stringify(await daemon.invoke('message-show', { id })),
      runs: JSON.stringify(await daemon.invoke('skill-usage', { name: 'leaks' })),
      log: daemon.output(),
    }
    for (const [place, text] of Object.entries(places)) {
      assert.ok(!text.includes(SECRET), place)
      assert.match(text, /key=\[secret\]/, place)
    }
  })
})
