import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectsIn, pathGet } from '../../src/core/json.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  bulk: { transport: webhook, path: /bulk, verify: { scheme: none }, split: data.body.items }
routes:
  - { name: bad, match: { gateway: bulk }, skill: fail, retry: { attempts: 1 } }
`
const SKILLS = { fail: `export default { description: 'fails', run() { throw new Error('I fail') } }` }
/** More than a page of a list. */
const COUNT = 502

test('lists of messages and dead letters have all pages with --all', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  const daemon = await site.start()
  const items = Array.from({ length: COUNT }, (_, at) => ({ at }))
  await daemon.post('/bulk', JSON.stringify({ items }))
  const json = async (line: string) => JSON.parse((await site.run([...line.split(' '), '--json'])).out)
  const countOf = (list: unknown) => new Set(objectsIn(list).map(({ id }) => id)).size
  await until(
    async () => countOf(await json('dead-letter list --all')) === COUNT,
    'a dead letter of each message',
    60_000,
  )
  assert.equal(countOf(await json('dead-letter list')), 50)
  const messages = await json('message list --all')
  assert.equal(countOf(pathGet(messages, 'messages')), COUNT)
  assert.equal(pathGet(messages, 'next'), undefined)
  assert.equal(countOf(pathGet(await json('message list --all --text nowhere'), 'messages')), 0)
})
